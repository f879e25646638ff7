"""`Profiler` and `tid` for kernels that Triton compiles: PTX that writes the records of `layout.h`.

What a record costs in a loop decides its shape. A store stands under a predicate, not under an `if`: Triton
moves those to the end of a pipelined loop. Who leads is found once, before. The pointer is counted on its low
word and stops at the last slot, in one instruction; the sum holds the tag and is its own state; an end reads
one clock and not two. No annotations from the future here: Triton reads those of an aggregate.
"""

import triton
import triton.language as tl
from triton.language import core

from kinetograph.intra_kernel import layout

__all__ = ["Profiler", "tid"]

_CLAIM = f"""{{
    .reg .pred leads, has_room;
    .reg .u32 slots, segments, first, x, y, z, nx, ny, nz, block, blocks, place;
    .reg .u32 low, high, clock, early, late;
    .reg .u64 number, segment, time, header;
    setp.ne.u32 leads, $6, 0;
    mov.u64 number, 0;
    mov.u32 segments, 0;
    mov.u32 slots, 0;
    mov.u32 first, 0;
    @leads atom.global.add.u64 number, [$4+{layout.CLAIMED_OFFSET}], 1;
    @leads ld.global.v2.u32 {{slots, segments}}, [$4+8];
    @leads ld.global.u32 first, [$4+16];
    cvt.u64.u32 header, segments;
    setp.lt.u64 has_room, number, header;
    cvt.u32.u64 low, number;
    mad.lo.u32 low, low, slots, first;
    mad.wide.u32 segment, low, {layout.SLOT_BYTES}, $4;
    mov.b64 {{low, high}}, segment;
    mov.u32 x, %ctaid.x;
    mov.u32 y, %ctaid.y;
    mov.u32 z, %ctaid.z;
    mov.u32 nx, %nctaid.x;
    mov.u32 ny, %nctaid.y;
    mov.u32 nz, %nctaid.z;
    mad.lo.u32 block, z, ny, y;
    mad.lo.u32 block, block, nx, x;
    mul.lo.u32 blocks, nx, ny;
    mul.lo.u32 blocks, blocks, nz;
    mov.u32 place, %smid;
    shl.b32 place, place, 16;
    or.b32 place, place, $5;
    mov.u32 clock, %clock;
    mov.u64 time, %globaltimer;
    mov.b64 {{early, late}}, time;
    @has_room st.global.v4.u32 [segment], {{{layout.SEGMENT_MAGIC}, block, blocks, place}};
    @has_room st.global.v4.u32 [segment+16], {{low, clock, early, late}};
    mov.u32 $1, low;
    mad.lo.u32 $2, slots, {layout.SLOT_BYTES}, low;
    sub.u32 $2, $2, {2 * layout.SLOT_BYTES};
    add.u64 $0, segment, {(layout.SEGMENT_HEADER_SLOTS - 1) * layout.SLOT_BYTES};
    selp.u32 $3, 1, 0, has_room;
}}"""

_NEXT = """{
    .reg .pred leads;
    .reg .u32 low, high, clock, early, late;
    .reg .u64 time;
    setp.ne.u32 leads, $5, 0;
    mov.b64 {low, high}, $2;
    add.u32 low, low, 16;
    min.u32 low, low, $4;
    mov.b64 $0, {low, high};
    add.u32 $1, $3, TAG;
"""
_STAMP_START = """
    mov.u32 clock, %clock;
    mov.u64 time, %globaltimer;
    mov.b64 {early, late}, time;
    @leads st.global.v4.u32 [$0], {$1, clock, early, late};
}"""
_STAMP_END = """
    mov.u32 clock, %clock;
    @leads st.global.v2.u32 [$0], {$1, clock};
}"""
# Volatile, and before the clock is read: a warp issues in order, so that is read when the value is there.
_VALUE = """
    mov.b64 {early, late}, $6;
    mov.u32 clock, 0;
    @leads st.volatile.global.v4.u32 [$0], {$1, clock, early, late};
}"""
_WAIT = """{
    .reg .pred leads;
    setp.ne.u32 leads, $2, 0;
    @leads st.volatile.global.u32 [$1+12], $3;
    mov.u32 $0, 0;
}"""


@core.extern
def _claim(buffer, groups, leads, _semantic=None):
    return core.inline_asm_elementwise(
        _CLAIM,
        "=&l,=&r,=&r,=&r,l,r,r",
        [buffer, groups, leads],
        dtype=(core.int64, core.int32, core.int32, core.int32),
        is_pure=False,
        pack=1,
        _semantic=_semantic,
    )


@core.extern
def _store(pointer, total, end, leads, kind, task, value, _semantic=None):
    """One slot; its tag is part of the instruction where the task is known to the compiler."""
    kind = kind.value
    bodies = {layout.KIND_END: _STAMP_END, layout.KIND_PAYLOAD: _VALUE}
    body = _NEXT + bodies.get(kind, _STAMP_START)
    arguments, constraints = [pointer, total, end, leads], "=&l,=&r,l,r,r,r"
    if kind == layout.KIND_PAYLOAD:
        arguments, constraints = [*arguments, value], constraints + ",l"
    if isinstance(task, core.constexpr):
        tag = str(layout.SUM_STEP + (kind | task.value % layout.TASKS << 2))
    else:
        tag, constraints = f"${2 + len(arguments)}", constraints + ",r"
        arguments = [*arguments, task]
    return core.inline_asm_elementwise(
        body.replace("TAG", tag),
        constraints,
        arguments,
        dtype=(core.int64, core.int32),
        is_pure=False,
        pack=1,
        _semantic=_semantic,
    )


@core.extern
def _wait(pointer, leads, value, _semantic=None):
    return core.inline_asm_elementwise(
        _WAIT,
        "=r,l,r,r",
        [pointer, leads, value],
        dtype=core.int32,
        is_pure=False,
        pack=1,
        _semantic=_semantic,
    )


@core.extern
def tid(axis, _semantic=None):
    """The number of the thread in its block, along axis 0, 1 or 2."""
    name = "xyz"[core._unwrap_if_constexpr(axis)]
    return core.inline_asm_elementwise(
        f"mov.u32 $0, %tid.{name};", "=r", [], dtype=core.int32, is_pure=True, pack=1, _semantic=_semantic
    )


@triton.jit
def _bits(value):
    if value.dtype.is_floating():
        return value.to(tl.float32).to(tl.int32, bitcast=True)
    else:
        return value


@triton.jit
def _store_value(pointer, total, end, leads, value):
    value = core.to_tensor(value)
    if value.dtype.is_floating():
        return _store(pointer, total, end, leads, 3, 2, _bits(value).to(tl.int64))
    else:
        return _store(pointer, total, end, leads, 3, 1, value.to(tl.int64))


@triton.jit
def _store_after(pointer, total, end, leads, value):
    value = core.to_tensor(value)
    if value.type.is_block():
        pointer, total = _store(pointer, total, end, leads, 3, 0, pointer)
        _wait(pointer, leads, _bits(value).to(tl.int32))
        return pointer, total
    else:
        return _store_value(pointer, total, end, leads, value)


@core._aggregate
class Profiler:
    """Writes records for one block, or one group of threads. Methods return the profiler to go on with."""

    pointer: tl.tensor
    total: tl.tensor
    end: tl.tensor
    leads: tl.tensor
    ENABLE_PROFILING: tl.constexpr

    @triton.constexpr_function
    def __init__(self, pointer, total, end, leads, ENABLE_PROFILING):  # noqa: N803  (the guide's name)
        self.pointer = pointer
        self.total = total
        self.end = end
        self.leads = leads
        self.ENABLE_PROFILING = tl.constexpr(ENABLE_PROFILING)

    @staticmethod
    @triton.jit
    def create(
        profiler_buffer,
        group_id=0,
        num_groups: tl.constexpr = 1,
        is_leader=True,
        ENABLE_PROFILING: tl.constexpr = True,  # noqa: N803
    ):
        zero = core.to_tensor(0)
        if ENABLE_PROFILING:
            if isinstance(is_leader, tl.constexpr):
                leads = (tid(0) == 0).to(tl.int32)
            else:
                leads = is_leader.to(tl.int32)
            groups = zero + group_id + num_groups * 256
            # Without room nobody leads: if all wrote to one place instead, they would wait for each other.
            pointer, total, end, leads = _claim(profiler_buffer, groups, leads)
            return Profiler(pointer, total, end, leads, ENABLE_PROFILING)
        else:
            return Profiler(zero.to(tl.int64), zero, zero, zero, ENABLE_PROFILING)

    @triton.jit
    def record(self, is_start: tl.constexpr, task_type, payload=None, after=None):
        if self.ENABLE_PROFILING:
            if is_start:
                return self._record(0, task_type, payload, after)
            else:
                return self._record(1, task_type, payload, after)
        else:
            return self

    @triton.jit
    def mark(self, task_type, payload=None, after=None):
        if self.ENABLE_PROFILING:
            return self._record(2, task_type, payload, after)
        else:
            return self

    @triton.jit
    def _record(self, kind: tl.constexpr, task_type, payload, after):
        pointer = self.pointer
        total = self.total
        if after is not None:
            pointer, total = _store_after(pointer, total, self.end, self.leads, after)
        if payload is not None:
            pointer, total = _store_value(pointer, total, self.end, self.leads, payload)
        pointer, total = _store(pointer, total, self.end, self.leads, kind, task_type, None)
        return Profiler(pointer, total, self.end, self.leads, self.ENABLE_PROFILING)

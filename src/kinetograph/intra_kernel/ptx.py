"""Records as PTX, for front ends that put LLVM's inline assembler into kernels: Triton's and Numba's.

What a record costs in a loop decides its shape. A store stands under a predicate, not under an `if`. Who
leads is found once, before. The sum holds the tag and is its own state; an end reads one clock and not two.
The pointer is counted on its low word and stops at the tail; records that follow each other share that, since
a store has room for a number of bytes to add to its address.
"""

from __future__ import annotations

from kinetograph.errors import UsageError
from kinetograph.intra_kernel import layout

__all__ = [
    "CLAIM",
    "CLAIM_CONSTRAINTS",
    "NEXT_CONSTRAINTS",
    "STORE_CONSTRAINTS",
    "THREAD",
    "next_slot",
    "require_task",
    "store",
    "wait",
]

CLAIM = f"""{{
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
    sub.u32 $2, $2, {(layout.TAIL_SLOTS + 1) * layout.SLOT_BYTES};
    add.u64 $0, segment, {layout.SEGMENT_HEADER_SLOTS * layout.SLOT_BYTES};
    selp.u32 $3, 1, 0, has_room;
}}"""
"""Pointer to the next slot, sum, start of the tail, whether it leads and found room = of buffer, groups,
whether it leads.

Without room nothing is written: if all wrote to one place instead, they would wait for each other.
"""

_NEXT = """{
    .reg .u32 low, high;
    mov.b64 {low, high}, $1;
    add.u32 low, low, BYTES;
    min.u32 low, low, $2;
    mov.b64 $0, {low, high};
}"""
_BEGIN = """{
    .reg .pred leads;
    .reg .u32 clock, early, late, tag;
    .reg .u64 time;
    setp.ne.u32 leads, $3, 0;
"""
_ADD_TAG = """
    add.u32 $0, $2, TAG;
"""
_FIND_TAG = f"""
    and.b32 tag, TASK, {layout.TASKS - 1};
    shl.b32 tag, tag, 2;
    add.u32 tag, tag, KIND;
    add.u32 $0, $2, tag;
"""
_STAMP_START = """
    mov.u32 clock, %clock;
    mov.u64 time, %globaltimer;
    mov.b64 {early, late}, time;
    @leads st.global.v4.u32 [$1+BYTES], {$0, clock, early, late};
}"""
_STAMP_END = """
    mov.u32 clock, %clock;
    @leads st.global.v2.u32 [$1+BYTES], {$0, clock};
}"""
# Volatile, and before the clock is read: a warp issues in order, so that is read when the value is there.
_VALUE = """
    mov.b64 {early, late}, $4;
    mov.u32 clock, 0;
    @leads st.volatile.global.v4.u32 [$1+BYTES], {$0, clock, early, late};
}"""
_WAIT = """{
    .reg .pred leads;
    setp.ne.u32 leads, $2, 0;
    @leads st.volatile.global.u32 [$1+BYTES], $3;
    mov.u32 $0, 0;
}"""

THREAD = """{
    .reg .u32 y, z;
    mov.u32 $0, %tid.x;
    mov.u32 y, %tid.y;
    mov.u32 z, %tid.z;
    or.b32 $0, $0, y;
    or.b32 $0, $0, z;
}"""
"""Zero = for the first thread of a block."""

CLAIM_CONSTRAINTS = "=&l,=&r,=&r,=&r,l,r,r"
STORE_CONSTRAINTS = "=&r,l,r,r"
NEXT_CONSTRAINTS = "=l,l,r"


def store(kind: int, task: int | str, slots_before: int = 0) -> str:
    """Sum = of pointer, sum, whether it leads, and for a payload its 64 bits.

    The task is a number, which becomes part of an instruction, or the operand that holds one: "$4".
    """
    if isinstance(task, int):
        add = _ADD_TAG.replace("TAG", str(layout.SUM_STEP + (kind | require_task(task) << 2)))
    else:
        add = _FIND_TAG.replace("TASK", task).replace("KIND", str(layout.SUM_STEP + kind))
    bodies = {layout.KIND_END: _STAMP_END, layout.KIND_PAYLOAD: _VALUE}
    return _BEGIN + add + _behind(slots_before, bodies.get(kind, _STAMP_START))


def next_slot(slots: int) -> str:
    """Pointer = of pointer, start of the tail: so many slots further, or where the tail starts."""
    return _behind(slots, _NEXT)


def wait(slots_before: int = 0) -> str:
    """Zero = of pointer, whether it leads, 32 bits to wait for: into the payload of the slot."""
    return _behind(slots_before, _WAIT, 12)


def _behind(slots: int, text: str, offset: int = 0) -> str:
    return text.replace("BYTES", str(slots * layout.SLOT_BYTES + offset))


def require_task(task: int) -> int:
    """One that fits into a tag: cut to size, it would be recorded as a task that it is not."""
    if not isinstance(task, int):
        hint = "the names of tasks are given to the host's side, as task_names"
        raise UsageError(f"task_type: expected a whole number, got {task!r}", hint=hint)
    if not 0 <= task < layout.TASKS:
        raise UsageError(f"task_type: expected 0 to {layout.TASKS - 1}, got {task}")
    return task

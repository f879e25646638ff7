"""`Profiler` and `tid` for kernels that Triton compiles: the records of `ptx.py` in them.

Nothing of a record stands under an `if`: Triton moves those to the end of a pipelined loop. No annotations
from the future here: Triton reads those of an aggregate.
"""

import triton
import triton.language as tl
from triton.language import core

from kinetograph.intra_kernel import layout, ptx

__all__ = ["Profiler", "tid"]


@core.extern
def _claim(buffer, groups, leads, _semantic=None):
    return core.inline_asm_elementwise(
        ptx.CLAIM,
        ptx.CLAIM_CONSTRAINTS,
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
    arguments, constraints = [pointer, total, end, leads], ptx.STORE_CONSTRAINTS
    if kind == layout.KIND_PAYLOAD:
        arguments, constraints = [*arguments, value], constraints + ",l"
    if isinstance(task, core.constexpr):
        task = task.value
    else:
        arguments, constraints = [*arguments, task], constraints + ",r"
        task = f"${1 + len(arguments)}"
    return core.inline_asm_elementwise(
        ptx.store(kind, task),
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
        ptx.WAIT,
        "=r,l,r,r",
        [pointer, leads, value],
        dtype=core.int32,
        is_pure=False,
        pack=1,
        _semantic=_semantic,
    )


@core.extern
def _zero(_semantic=None):
    """As `tl.full` makes it, which wants a layout in Gluon."""
    return _semantic.scalar_constant(0, core.int32)


@core.extern
def tid(axis, _semantic=None):
    """The number of the thread in its block, along axis 0, 1 or 2."""
    name = "xyz"[core._unwrap_if_constexpr(axis)]
    return core.inline_asm_elementwise(
        f"mov.u32 $0, %tid.{name};", "=r", [], dtype=core.int32, is_pure=True, pack=1, _semantic=_semantic
    )


@core.extern
def _leads(is_leader, _semantic=None):
    """Whether this thread leads; of True it is the first of its block, of False none."""
    is_leader = core._unwrap_if_constexpr(is_leader)
    if not isinstance(is_leader, core.tensor):
        if not is_leader:
            return _semantic.scalar_constant(0, core.int32)
        is_leader = tid(0, _semantic=_semantic).__eq__(0, _semantic=_semantic)
    return is_leader.to(core.int32, _semantic=_semantic)


@triton.jit
def _bits(value):
    if value.dtype.is_floating():
        return value.to(tl.float32).to(tl.int32, bitcast=True)
    else:
        return value


@triton.jit
def _store_value(pointer, total, end, leads, value):
    value = core.to_tensor(value)
    tl.static_assert(not value.type.is_block(), "payload: expected a number, got a tensor of several")
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
        zero = _zero()
        if ENABLE_PROFILING:
            tl.static_assert(num_groups < 256, "num_groups: expected 255 at most")
            groups = zero + (group_id & 255) + num_groups * 256
            pointer, total, end, leads = _claim(profiler_buffer, groups, _leads(is_leader))
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
        if isinstance(after, tl.tuple):
            for i in tl.static_range(len(after)):
                pointer, total = _store_after(pointer, total, self.end, self.leads, after[i])
        elif after is not None:
            pointer, total = _store_after(pointer, total, self.end, self.leads, after)
        if payload is not None:
            pointer, total = _store_value(pointer, total, self.end, self.leads, payload)
        pointer, total = _store(pointer, total, self.end, self.leads, kind, task_type, None)
        return Profiler(pointer, total, self.end, self.leads, self.ENABLE_PROFILING)

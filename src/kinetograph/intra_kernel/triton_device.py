"""`Profiler` and `tid` for kernels that Triton compiles: the records of `ptx.py` in them.

Nothing of a record stands under an `if`: Triton moves those to the end of a pipelined loop. No annotations
from the future here: Triton reads those of an aggregate.
"""

import hashlib
import inspect
import sys

import triton
import triton.language as tl
from triton.language import core

from kinetograph.errors import UsageError
from kinetograph.intra_kernel import layout, ptx

__all__ = ["Profiler", "tid"]

# Triton keeps kernels by the text of functions that it compiles itself. What stands in these files it does
# not read: without this, it would find kernels that were made by other versions of them.
_OUR_TEXT = "".join(map(inspect.getsource, (layout, ptx, sys.modules[__name__])))
_VERSION = tl.constexpr(hashlib.sha256(_OUR_TEXT.encode()).hexdigest())


@core.extern
def _claim(buffer, groups, leads, _semantic=None):
    buffer = core._unwrap_if_constexpr(buffer)
    if not isinstance(buffer, core.tensor) or not buffer.type.is_ptr():
        raise UsageError(
            f"profiler_buffer: expected a pointer, got {getattr(buffer, 'type', buffer)}",
            hint="pass what alloc_profiler_buffer returned, or ENABLE_PROFILING=False",
        )
    groups = groups.to(core.int32, _semantic=_semantic)
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
def _require_constants(num_groups, ENABLE_PROFILING, _semantic=None):  # noqa: N803
    for name, value in (("num_groups", num_groups), ("ENABLE_PROFILING", ENABLE_PROFILING)):
        if isinstance(value, core.tensor):
            hint = "where it is an argument of the kernel, declare it as a tl.constexpr"
            raise UsageError(
                f"{name}: expected a constant, got a value that the compiler does not know", hint=hint
            )


@core.extern
def _zero(_semantic=None):
    """As `tl.full` makes it, which wants a layout in Gluon."""
    return _semantic.scalar_constant(0, core.int32)


@core.extern
def tid(axis, _semantic=None):
    """The number of the thread in its block, along axis 0, 1 or 2."""
    name = {0: "x", 1: "y", 2: "z"}.get(core._unwrap_if_constexpr(axis))
    if name is None:
        raise UsageError(f"tid: expected axis 0, 1 or 2, got {axis}")
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
    # Several threads may hold the same element of a tensor, and all of them would lead.
    if is_leader.type.is_block():
        raise UsageError("is_leader: expected one value, got a tensor of several", hint="tid(0) == 0")
    return is_leader.to(core.int32, _semantic=_semantic)


class _Writer:
    """Puts slots behind those of a profiler, while its kernel is traced.

    A tensor of Triton's is one object as long as it stays where it was made; behind loops, branches and calls
    there is another. So a pointer can tell where its row began: records in a row know of each other, and only
    the first of up to four has to have looked where the tail starts.
    """

    def __init__(self, profiler, semantic):
        self._leads, self._end, self._semantic = profiler.leads, profiler.end, semantic
        row = getattr(profiler.pointer, "slots_in_a_row", (profiler.pointer, 0))
        self._first: tl.tensor = row[0]
        self._slots: int = row[1]
        self.pointer, self.total = profiler.pointer, profiler.total

    def store(self, kind, task, value=None):
        """The tag is part of the instruction where the task is known to the compiler."""
        if self._slots == layout.TAIL_SLOTS:
            self._first, self._slots = self.pointer, 0
        arguments, constraints = [self._first, self.total, self._leads], ptx.STORE_CONSTRAINTS
        if value is not None:
            arguments, constraints = [*arguments, value], constraints + ",l"
        task = self._known_task(task)
        if isinstance(task, core.tensor):
            arguments, constraints = [*arguments, task], constraints + ",r"
            task = f"${len(arguments)}"
        self.total = self._assemble(ptx.store(kind, task, self._slots), constraints, arguments, core.int32)
        self._slots += 1
        self._count_on()

    def _known_task(self, task):
        """A number for the compiler, or one for an instruction to find."""
        task = core._unwrap_if_constexpr(task)
        if not isinstance(task, core.tensor):
            return ptx.require_task(task)
        if task.type.is_block() or not task.dtype.is_int():
            raise UsageError(f"task_type: expected a whole number, got {task.type}")
        return self._cast(task, core.int32)

    def store_value(self, value):
        """As a payload. Of a tensor of several only that it is there: its bits show nothing."""
        value = core._unwrap_if_constexpr(value)
        if value is None:
            return
        value = self._semantic.to_tensor(value)
        if value.type.is_block():
            self.store(layout.KIND_PAYLOAD, layout.PAYLOAD_NONE, self._first)
            arguments = [self._first, self._leads, self._bits(value)]
            self._assemble(ptx.wait(self._slots - 1), "=r,l,r,r", arguments, core.int32)
        elif value.dtype.is_floating():
            self.store(layout.KIND_PAYLOAD, layout.PAYLOAD_FLOAT, self._cast(self._bits(value), core.int64))
        else:
            self.store(layout.KIND_PAYLOAD, layout.PAYLOAD_INT, self._cast(value, core.int64))

    def store_payload(self, value):
        if isinstance(value, core.tensor) and value.type.is_block():
            raise UsageError("payload: expected a number, got a tensor of several")
        self.store_value(value)

    def _count_on(self):
        """Of several in a row the last one counts, what the others made goes as dead code."""
        arguments = [self._first, self._end]
        text = ptx.next_slot(self._slots)
        self.pointer = self._assemble(text, ptx.NEXT_CONSTRAINTS, arguments, core.int64, is_pure=True)
        self.pointer.slots_in_a_row = (self._first, self._slots)

    def _assemble(self, text, constraints, arguments, dtype, is_pure=False):
        return core.inline_asm_elementwise(
            text, constraints, arguments, dtype=dtype, is_pure=is_pure, pack=1, _semantic=self._semantic
        )

    def _cast(self, value, dtype, bitcast=False):
        return value.to(dtype, bitcast=bitcast, _semantic=self._semantic)

    def _bits(self, value):
        if value.dtype.is_floating():
            return self._cast(self._cast(value, core.float32), core.int32, bitcast=True)
        return self._cast(value, core.int32)


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
        _require_constants(num_groups, ENABLE_PROFILING)
        zero = _zero()
        tl.static_assert(_VERSION != "")
        if ENABLE_PROFILING:
            tl.static_assert(num_groups < 256, "num_groups: expected 255 at most")
            groups = ((zero + group_id) & 255) + num_groups * 256
            pointer, total, end, leads = _claim(profiler_buffer, groups, _leads(is_leader))
            return Profiler(pointer, total, end, leads, ENABLE_PROFILING)
        else:
            return Profiler(zero.to(tl.int64), zero, zero, zero, ENABLE_PROFILING)

    @core.extern
    def record(self, is_start, task_type, payload=None, after=None, _semantic=None):
        is_start = core._unwrap_if_constexpr(is_start)
        if isinstance(is_start, core.tensor):
            raise UsageError("is_start: expected True or False, got a value that the compiler does not know")
        kind = layout.KIND_START if is_start else layout.KIND_END
        return _recorded(self, kind, task_type, payload, after, _semantic)

    @core.extern
    def mark(self, task_type, payload=None, after=None, _semantic=None):
        return _recorded(self, layout.KIND_INSTANT, task_type, payload, after, _semantic)


def _recorded(profiler, kind, task, payload, after, semantic):
    if not profiler.ENABLE_PROFILING.value:
        return profiler
    writer = _Writer(profiler, semantic)
    for value in after if isinstance(after, core.tuple) else [after]:
        writer.store_value(value)
    writer.store_payload(payload)
    writer.store(kind, task)
    state = (writer.pointer, writer.total, profiler.end, profiler.leads, profiler.ENABLE_PROFILING)
    return Profiler(*state, _semantic=semantic)

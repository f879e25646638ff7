"""The memory that kernels write their records into: how much, what stands in it at first, reading it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from kinetograph import _native
from kinetograph.checks import require_int, text_tuple
from kinetograph.errors import UsageError
from kinetograph.hints import Any
from kinetograph.intra_kernel import driver, layout, live
from kinetograph.intra_kernel.arrays import new_array
from kinetograph.intra_kernel.calibration import calibrate_if_due
from kinetograph.intra_kernel.memory import Memory, memory_of
from kinetograph.trace import DeviceType, Trace

__all__ = ["alloc_profiler_buffer", "load_profiler_buffer", "reset_profiler_buffer"]

_LEAST_SEGMENTS = 4096
"""So that many blocks find a place, whatever little each of them records."""

_BLOCKS = 2048
"""That the slots would be just enough for, where nobody says how many one block needs."""

_SPARE, _MOST_SPARE_SLOTS = 4, 1 << 22
"""Then there are so many times the slots, up to 64 MiB: blocks differ in how much they record."""

_MOST_SLOTS = 1 << 27
"""Two GiB: kernels count bytes of the buffer in 32 bits."""

_HEADER = struct.Struct("<IIII IIQ Q")


@dataclass(frozen=True)
class _Plan:
    """How the slots of a buffer are divided."""

    segment_slots: int
    segments: int

    @property
    def slots(self) -> int:
        # Segments begin at a multiple of their size, wherever the buffer does: none of them may lie across
        # a multiple of 4 GiB, for kernels count the low word of an address only.
        return layout.HEADER_SLOTS + self.segment_slots * (self.segments + 1)

    def header(self, address: int, clock_khz: int) -> bytes:
        size = self.segment_slots * layout.SLOT_BYTES
        first = -(-(address + layout.HEADER_SLOTS * layout.SLOT_BYTES) // size) * size
        first_slot = (first - address) // layout.SLOT_BYTES
        fields = (layout.BUFFER_MAGIC, layout.LAYOUT_VERSION, self.segment_slots, self.segments)
        return _HEADER.pack(*fields, first_slot, 0, 0, clock_khz)


def alloc_profiler_buffer(
    max_num_profile_slots: int,
    slots_per_segment: int | None = None,
    device: Any = None,
    kind: str | None = None,
    task_names: Sequence[str] = (),
) -> Any:
    """A buffer for at least so many records, ready to be passed to kernels.

    Each block of a launch takes a segment of it, with room for `slots_per_segment - 6` records; what finds no
    room is counted in the notes of the trace. Without `slots_per_segment` there is more memory than was asked
    for, up to 64 MiB, for blocks differ: of a million slots each block has 506, and 7,906 blocks find some.
    `kind` says what it is: "torch", "cupy", "numba", "driver" for memory that needs none of them, or "numpy"
    for kernels that run on the CPU. By default it is of the first of these that is loaded. Without a GPU it
    lies in host memory, for Triton's interpreter.
    A session takes what kernels write while it records; the names are for its trace.
    """
    plan = _plan(max_num_profile_slots, slots_per_segment)
    names = text_tuple("task_names", task_names)
    buffer = new_array(plan.slots * 2, kind, device)
    memory = memory_of(buffer)
    _empty(memory, plan)
    live.register(buffer, _used_part, names, live.HOST if memory.device is None else memory.device)
    return buffer


def reset_profiler_buffer(profiler_buffer: Any) -> None:
    """Forget what was recorded. Waits for the kernels of its device."""
    memory = memory_of(profiler_buffer)
    plan = _plan_in(memory)
    live.keep_contents(profiler_buffer)
    _empty(memory, plan)
    live.forget_contents(profiler_buffer)


def load_profiler_buffer(profiler_buffer: Any, task_names: Sequence[str] = ()) -> Trace:
    """What kernels have recorded, as a trace. Waits for those of its device.

    >>> trace = load_profiler_buffer(buffer, ["load", "dot"])
    """
    memory = memory_of(profiler_buffer)
    names = text_tuple("task_names", task_names)
    live.name_tasks(profiler_buffer, names)
    place = (0, -1) if memory.device is None else (int(DeviceType.CUDA), memory.device)
    native = _native.decode_intra_kernel(memory.read(), list(names), 0, *place)
    return Trace(native)


def _empty(memory: Memory, plan: _Plan) -> None:
    clock_khz = 0 if memory.device is None else driver.clock_khz(memory.device)
    memory.fill(plan.header(memory.address, clock_khz))
    if memory.device is not None:
        calibrate_if_due(memory.device)


def _used_part(buffer: Any) -> Any:
    memory = memory_of(buffer)
    header = memory.read(_HEADER.size).tobytes()
    _magic, _version, segment_slots, segments, first, _nothing, claimed, _khz = _HEADER.unpack(header)
    used = first + min(claimed, segments) * segment_slots
    return memory.read(used * layout.SLOT_BYTES)


def _plan(slots: int, segment_slots: int | None) -> _Plan:
    hint = "a slot is one record, 16 bytes"
    slots = require_int("max_num_profile_slots", slots, 1, _MOST_SLOTS, hint=hint)
    if segment_slots is None:
        segment_slots = 1 << min(10, max(5, (slots // _BLOCKS).bit_length()))
        slots = max(slots, min(slots * _SPARE, _MOST_SPARE_SLOTS))
    hint = "what one block records in one launch, and 6 more, rounded up to a power of two"
    least, most = layout.LEAST_SEGMENT_SLOTS, _MOST_SLOTS >> 2
    segment_slots = require_int("slots_per_segment", segment_slots, least, most, hint=hint)
    if segment_slots & (segment_slots - 1):
        raise UsageError(f"slots_per_segment: expected a power of two, got {segment_slots}", hint=hint)
    usable = segment_slots - layout.SEGMENT_HEADER_SLOTS - layout.TAIL_SLOTS
    fitting = _MOST_SLOTS // segment_slots - 2
    if slots > fitting * usable:
        hint = f"raise slots_per_segment, or ask for {fitting * usable} slots at most"
        raise UsageError(f"max_num_profile_slots: {slots} slots do not fit into 2 GiB", hint=hint)
    return _Plan(segment_slots, min(fitting, max(_LEAST_SEGMENTS, -(-slots // usable))))


def _plan_in(memory: Memory) -> _Plan:
    header = memory.read(_HEADER.size).tobytes()
    if len(header) == _HEADER.size:
        magic, version, segment_slots, segments, *_rest = _HEADER.unpack(header)
        plan = _Plan(segment_slots, segments)
        is_known = (magic, version) == (layout.BUFFER_MAGIC, layout.LAYOUT_VERSION) and segment_slots > 0
        # Kernels go by what the header says: where that is more than there is, they would write beyond.
        if is_known and plan.slots * layout.SLOT_BYTES <= memory.size_bytes:
            return plan
    raise UsageError(
        "profiler_buffer: this is no profiler buffer, or a part of one, or its header was written over",
        hint="make one by alloc_profiler_buffer",
    )

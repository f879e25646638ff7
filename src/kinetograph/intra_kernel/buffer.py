"""The memory that kernels write their records into: how much, what stands in it at first, reading it."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from kinetograph import _native
from kinetograph.checks import require_int
from kinetograph.errors import ArgumentError, NotAvailable, UsageError
from kinetograph.hints import Any
from kinetograph.intra_kernel import layout, live
from kinetograph.trace import DeviceType, Trace

__all__ = ["alloc_profiler_buffer", "load_profiler_buffer", "reset_profiler_buffer"]

_LEAST_SEGMENTS = 4096
"""So that many blocks find a place, whatever little each of them records."""

_MOST_SLOTS = 1 << 27
"""Two GiB: kernels count bytes of the buffer in 32 bits."""

_HEADER = struct.Struct("<IIII IIQ")
_ALIGNMENT = layout.HEADER_SLOTS * layout.SLOT_BYTES


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

    def header(self, address: int) -> bytes:
        size = self.segment_slots * layout.SLOT_BYTES
        first = -(-(address + layout.HEADER_SLOTS * layout.SLOT_BYTES) // size) * size
        first_slot = (first - address) // layout.SLOT_BYTES
        fields = (layout.BUFFER_MAGIC, layout.LAYOUT_VERSION, self.segment_slots, self.segments)
        return _HEADER.pack(*fields, first_slot, 0, 0)


def alloc_profiler_buffer(
    max_num_profile_slots: int,
    slots_per_segment: int | None = None,
    device: Any = None,
    task_names: list[str] | tuple[str, ...] = (),
) -> Any:
    """A buffer for at least so many records, ready to be passed to kernels: a tensor of torch.

    Each block of a launch takes a segment of it, with room for `slots_per_segment - 3` records; what finds no
    room is counted in the notes of the trace. Without a GPU it lies in host memory, for Triton's interpreter.
    A session takes what kernels write while it records; the names are for its trace.
    """
    plan = _plan(max_num_profile_slots, slots_per_segment)
    torch = _torch()
    if device is None:
        device = "cuda" if torch.cuda.is_available() and not _is_interpreting() else "cpu"
    buffer = torch.zeros(plan.slots * 2, dtype=torch.int64, device=device)
    _write_header(buffer, plan)
    live.register(buffer, _used_part, task_names)
    return buffer


def reset_profiler_buffer(profiler_buffer: Any) -> None:
    """Forget what was recorded. Reads the header back, so kernels of the current stream are waited for."""
    plan = _plan_in(_tensor(profiler_buffer))
    live.keep_contents(profiler_buffer)
    profiler_buffer.zero_()
    _write_header(profiler_buffer, plan)
    live.forget_contents(profiler_buffer)


def load_profiler_buffer(profiler_buffer: Any, task_names: list[str] | tuple[str, ...] = ()) -> Trace:
    """What kernels have recorded, as a trace. Waits for those of the current stream.

    >>> trace = load_profiler_buffer(buffer, ["load", "dot"])
    """
    tensor = _tensor(profiler_buffer)
    live.name_tasks(tensor, task_names)
    on_device = tensor.device.type != "cpu"
    place = (int(DeviceType.CUDA), tensor.device.index or 0) if on_device else (0, -1)
    native = _native.decode_intra_kernel(tensor.cpu().numpy(), [str(name) for name in task_names], 0, *place)
    return Trace(native)


def _used_part(tensor: Any) -> tuple[Any, int]:
    header = tensor[: _ALIGNMENT // 8].cpu().numpy().tobytes()
    _magic, _version, segment_slots, segments, first, _nothing, claimed = _HEADER.unpack_from(header)
    used = first + min(claimed, segments) * segment_slots
    device = -1 if tensor.device.type == "cpu" else tensor.device.index or 0
    return tensor[: used * layout.SLOT_BYTES // 8].cpu().numpy(), device


def _plan(slots: int, segment_slots: int | None) -> _Plan:
    hint = "a slot is one record, 16 bytes"
    slots = require_int("max_num_profile_slots", slots, 1, _MOST_SLOTS, hint=hint)
    if segment_slots is None:
        segment_slots = 1 << min(10, max(5, (slots // _LEAST_SEGMENTS).bit_length()))
    hint = "what one block records in one launch, and 3 more, rounded up to a power of two"
    least, most = layout.LEAST_SEGMENT_SLOTS, _MOST_SLOTS >> 2
    segment_slots = require_int("slots_per_segment", segment_slots, least, most, hint=hint)
    if segment_slots & (segment_slots - 1):
        raise UsageError(f"slots_per_segment: expected a power of two, got {segment_slots}", hint=hint)
    usable = segment_slots - layout.SEGMENT_HEADER_SLOTS - 1
    fitting = _MOST_SLOTS // segment_slots - 2
    return _Plan(segment_slots, max(1, min(fitting, max(_LEAST_SEGMENTS, -(-slots // usable)))))


def _plan_in(buffer: Any) -> _Plan:
    header = buffer[: _ALIGNMENT // 8].cpu().numpy().tobytes()
    magic, version, segment_slots, segments, *_rest = _HEADER.unpack_from(header)
    if (magic, version) != (layout.BUFFER_MAGIC, layout.LAYOUT_VERSION):
        raise UsageError(
            "profiler_buffer: this tensor is no profiler buffer, or its header was written over",
            hint="make one by alloc_profiler_buffer",
        )
    return _Plan(segment_slots, segments)


def _write_header(buffer: Any, plan: _Plan) -> None:
    torch = _torch()
    header = plan.header(buffer.data_ptr())
    words = torch.frombuffer(bytearray(header), dtype=torch.int64)
    buffer[: len(words)].copy_(words)


def _tensor(buffer: Any) -> Any:
    if not hasattr(buffer, "data_ptr"):
        raise ArgumentError(
            f"profiler_buffer: expected what alloc_profiler_buffer returned, got {type(buffer).__name__}",
            hint="inside `with ProfilerBuffer(...) as buffer` it is `buffer`",
        )
    return buffer


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise NotAvailable(
            "profiler buffers are tensors of PyTorch, which is not installed", hint="pip install torch"
        ) from None
    return torch


def _is_interpreting() -> bool:
    import os

    return os.environ.get("TRITON_INTERPRET", "0").lower() in ("1", "true", "on", "yes")

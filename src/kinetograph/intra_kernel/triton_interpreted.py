"""`Profiler` and `tid` for kernels that run in Triton's interpreter: the same records, with the host's clock.

A block runs as one thread here, on an SM of number 0. The clock is the time in nanoseconds.
"""

from __future__ import annotations

import ctypes
import math
import struct
import time

import triton.language as tl
from triton.runtime.interpreter import interpreter_builder

from kinetograph.errors import UsageError
from kinetograph.hints import Any
from kinetograph.intra_kernel import layout
from kinetograph.intra_kernel.ptx import require_task

__all__ = ["Profiler", "tid"]

_SLOT = struct.Struct("<IIQ")
_WORDS = struct.Struct("<IIII")
_WORD = 0xFFFFFFFF
_LARGEST_FLOAT32 = (2 - 2**-23) * 2.0**127


def tid(axis: int) -> Any:
    """The number of the thread in its block: there is one."""
    if _number(axis) not in (0, 1, 2):
        raise UsageError(f"tid: expected axis 0, 1 or 2, got {axis}")
    return tl.tensor(interpreter_builder.get_int32(0), tl.int32)


class Profiler:
    """Writes records for one block. Each method returns the profiler to go on with."""

    def __init__(self, address: int, total: int, end: int) -> None:
        self._address = address
        self._total = total
        self._end = end

    @staticmethod
    def create(
        profiler_buffer: Any,
        group_id: Any = 0,
        num_groups: Any = 1,
        is_leader: Any = True,
        ENABLE_PROFILING: Any = True,  # noqa: N803  (the guide's name)
    ) -> Any:
        if not _number(ENABLE_PROFILING):
            return _Silent()
        if _number(is_leader) is None:
            raise UsageError("is_leader: expected one value, got a tensor of several", hint="tid(0) == 0")
        if not _number(is_leader):
            return _Silent()
        if not getattr(profiler_buffer, "dtype", tl.int64).is_ptr():
            hint = "pass what alloc_profiler_buffer returned, or ENABLE_PROFILING=False"
            raise UsageError("profiler_buffer: expected a pointer", hint=hint)
        if _number(num_groups) > 255:
            raise UsageError(f"num_groups: expected 255 at most, got {_number(num_groups)}")
        return _claim(_number(profiler_buffer), _number(group_id) & 255 | _number(num_groups) << 8)

    def record(self, is_start: Any, task_type: Any, payload: Any = None, after: Any = None) -> Profiler:
        kind = layout.KIND_START if _number(is_start) else layout.KIND_END
        return self._record(kind, task_type, payload, after)

    def mark(self, task_type: Any, payload: Any = None, after: Any = None) -> Profiler:
        return self._record(layout.KIND_INSTANT, task_type, payload, after)

    def _record(self, kind: int, task_type: Any, payload: Any, after: Any) -> Profiler:
        profiler = self
        for value in after if isinstance(after, tuple | list) else (after,):
            profiler = profiler._store_value(value)
        if payload is not None and _number(payload) is None:
            raise UsageError("payload: expected a number, got a tensor of several")
        profiler = profiler._store_value(payload)
        now_ns = time.time_ns()
        # Ends as well: to interpret may take longer than the clock, which wraps after four seconds, can tell.
        return profiler._store(kind, require_task(_number(task_type)), now_ns & _WORD, now_ns)

    def _store_value(self, value: Any) -> Profiler:
        if value is None:
            return self
        number = _number(value)
        if number is None:
            return self._store(layout.KIND_PAYLOAD, layout.PAYLOAD_NONE, 0, 0)
        if isinstance(number, float):
            bits = struct.unpack("<I", struct.pack("<f", _as_float32(number)))[0]
            return self._store(layout.KIND_PAYLOAD, layout.PAYLOAD_FLOAT, 0, bits)
        return self._store(layout.KIND_PAYLOAD, layout.PAYLOAD_INT, 0, number % (1 << 64))

    def _store(self, kind: int, task: int, clock: int, value: int) -> Profiler:
        address = min(self._address + layout.SLOT_BYTES, self._end)
        total = (self._total + layout.SUM_STEP + (kind | task << 2)) & _WORD
        ctypes.memmove(address, _SLOT.pack(total, clock, value), layout.SLOT_BYTES)
        return Profiler(address, total, self._end)


class _Silent:
    """A profiler that is off, or found no room."""

    def record(self, *_args: Any, **_kwargs: Any) -> _Silent:
        return self

    mark = record


def _claim(buffer: int, groups: int) -> Profiler | _Silent:
    words = (ctypes.c_uint32 * 5).from_address(buffer)
    claimed = ctypes.c_uint64.from_address(buffer + layout.CLAIMED_OFFSET)
    magic, version, slots, segments, first = words
    if (magic, version) != (layout.BUFFER_MAGIC, layout.LAYOUT_VERSION):
        hint = "make one by alloc_profiler_buffer"
        raise UsageError("profiler_buffer: this is no profiler buffer", hint=hint)
    number = claimed.value
    claimed.value += 1
    if number >= segments:
        return _Silent()
    segment = buffer + (first + number * slots) * layout.SLOT_BYTES
    now_ns = time.time_ns()
    block, blocks = _place_in_grid()
    header = _WORDS.pack(layout.SEGMENT_MAGIC, block, blocks, groups)
    total = segment & _WORD
    stamp = _SLOT.pack(total, now_ns & _WORD, now_ns)
    ctypes.memmove(segment, header + stamp, layout.SEGMENT_HEADER_SLOTS * layout.SLOT_BYTES)
    return Profiler(segment + layout.SLOT_BYTES, total, segment + (slots - 2) * layout.SLOT_BYTES)


def _place_in_grid() -> tuple[int, int]:
    x, y, z = interpreter_builder.grid_idx
    nx, ny, nz = interpreter_builder.grid_dim
    return x + nx * (y + ny * z), nx * ny * nz


def _as_float32(number: float) -> float:
    """What is too large for it is infinite, as on a GPU."""
    return math.copysign(math.inf, number) if abs(number) > _LARGEST_FLOAT32 else number


def _number(value: Any) -> Any:
    """A scalar of the interpreter, a constexpr or a number, as a number; None for a tensor of several."""
    value = getattr(value, "value", value)
    if not hasattr(value, "handle"):
        return value
    data = value.handle.data
    return data.item() if data.size == 1 else None

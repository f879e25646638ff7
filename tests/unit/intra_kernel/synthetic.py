"""Profiler buffers as kernels leave them, and traces with those kernels, at times that are known exactly."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field

from kinetograph import _native
from kinetograph.intra_kernel import layout
from kinetograph.trace import Event, EventKind, Trace
from sample_traces import NOW_NS

STEP_NS = 32
_WORD = 0xFFFFFFFF


class Buffer:
    """Writes what `layout.h` says. Times are exact globaltimers; what is stored has steps."""

    def __init__(self, segments: int, slots: int = 16) -> None:
        self._slots = slots
        self._data = bytearray((layout.HEADER_SLOTS + slots * segments) * layout.SLOT_BYTES)
        header = (layout.BUFFER_MAGIC, layout.LAYOUT_VERSION, slots, segments, layout.HEADER_SLOTS, 0, 0)
        struct.pack_into("<IIIIIIQ", self._data, 0, *header)
        self._claimed = 0
        self._at = self._sum = 0

    def claim(self, block: int, blocks: int, sm: int, time_ns: int) -> None:
        self._at = (layout.HEADER_SLOTS + self._claimed * self._slots) * layout.SLOT_BYTES
        self._claimed += 1
        struct.pack_into("<Q", self._data, layout.CLAIMED_OFFSET, self._claimed)
        struct.pack_into(
            "<IIII", self._data, self._at, layout.SEGMENT_MAGIC, block, blocks, 1 << 8 | sm << 16
        )
        self._sum = 1000 + self._claimed
        self._store(*_stamp(time_ns))

    def start(self, task: int, time_ns: int, payload: int | None = None) -> None:
        if payload is not None:
            self._add(layout.KIND_PAYLOAD, layout.PAYLOAD_INT, 0, payload)
        self._add(layout.KIND_START, task, *_stamp(time_ns))

    def end(self, task: int, time_ns: int) -> None:
        self._add(layout.KIND_END, task, _stamp(time_ns)[0], 0)

    def contents(self, names: list[str] | None = None, device: int = 0) -> tuple[bytes, list[str], int]:
        return bytes(self._data), names or ["load", "dot"], device

    def _add(self, kind: int, task: int, clock: int, value: int) -> None:
        self._sum = (self._sum + layout.SUM_STEP + (kind | task << 2)) & _WORD
        self._store(clock, value)

    def _store(self, clock: int, value: int) -> None:
        self._at += layout.SLOT_BYTES
        struct.pack_into("<IIQ", self._data, self._at, self._sum, clock, value)


def _stamp(time_ns: int) -> tuple[int, int]:
    clock = (time_ns - NOW_NS) * 198 // 100 & _WORD  # cycles per nanosecond, about as many as an H200 has
    return clock, time_ns // STEP_NS * STEP_NS


@dataclass
class Device:
    """A GPU with a clock of its own, and CUPTI's view of what it does."""

    offset_ns: int = -7_000_000
    """Wall time minus globaltimer at NOW_NS."""
    drift: float = 0.0
    noise_ns: int = 100
    """How far CUPTI's times of a kernel are off."""
    margins_ns: tuple[int, int] = (400, 1_200)
    """Least and most time between the start of a kernel and its first block, and likewise at its end."""
    blocks: int = 4
    index: int = 0
    seed: int = 0
    buffer: Buffer = field(default_factory=lambda: Buffer(8192))
    trace: Trace = field(default_factory=Trace)
    launches: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self.trace.native.name_track(0, 7, "stream 7 ", 7, device_type=1, device_index=self.index)

    def globaltimer(self, wall_ns: int) -> int:
        return wall_ns - self.offset_ns - round((wall_ns - NOW_NS) * self.drift)

    def launch(
        self,
        start_ns: int,
        length_ns: int = 5_000,
        stream: int = 7,
        is_recorded: bool = True,
        is_told: bool = True,
    ) -> int:
        """When it ended. Each range of a block has its true time as payload."""
        number = self.launches
        self.launches += 1
        first = start_ns + self._random.randint(*self.margins_ns)
        if is_recorded:
            for block in range(self.blocks):
                self.run_block(block, first + self._random.randint(0, 200), length_ns)
        end_ns = first + 200 + length_ns + self._random.randint(*self.margins_ns)
        if is_told:
            self._tell(number, start_ns, end_ns, stream)
        return end_ns

    def run_block(self, block: int, begin_ns: int, length_ns: int) -> None:
        time = self.globaltimer
        middle_ns = begin_ns + length_ns // 2
        self.buffer.claim(block, self.blocks, block % 132, time(begin_ns))
        self.buffer.start(0, time(begin_ns + 10), payload=begin_ns + 10)
        self.buffer.end(0, time(middle_ns))
        self.buffer.start(1, time(middle_ns), payload=middle_ns)
        self.buffer.end(1, time(begin_ns + length_ns))

    def _tell(self, number: int, start_ns: int, end_ns: int, stream: int) -> None:
        noise_ns = self._random.randint(-self.noise_ns, self.noise_ns)
        self.trace.native.name_track(
            0, stream, f"stream {stream} ", stream, device_type=1, device_index=self.index
        )
        self.trace.native.append(
            "matmul",
            "kernel",
            EventKind.SPAN,
            start_ns + noise_ns,
            end_ns - start_ns,
            0,
            stream,
            correlation=number + 1,
            args_json=f'{{"device": {self.index}, "stream": {stream}, "grid": [{self.blocks}, 1, 1]}}',
        )

    def join(self, *measured_ns: int, off_ns: int = 900, error_ns: int = 2_000) -> Trace:
        """With calibrations at these moments, wall time: how far off, and how far they say they may be."""
        self.trace.native.sort()
        at_ns = [self.globaltimer(moment_ns) for moment_ns in measured_ns]
        measured = [
            (self.index, at, moment - at + off_ns, error_ns)
            for at, moment in zip(at_ns, measured_ns, strict=True)
        ]
        _native.join_intra_kernel(self.trace.native, [self.buffer.contents()], measured)
        return self.trace


def kernels_by_launch(trace: Trace) -> dict[int, Event]:
    kernels = [event for event in trace.events if event.category == "kernel" and "launch" in event.args]
    found = {event.args["launch"]: event for event in kernels}
    assert len(found) == len(kernels)
    return found


def inside(trace: Trace) -> list[Event]:
    return [event for event in trace.events if event.category == "intra_kernel"]


def stated_error_ns(trace: Trace) -> int:
    [clock] = trace.metadata["intra_kernel_clock"]
    error: int = clock["error_ns"]
    return error

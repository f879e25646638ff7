"""What kernels record of themselves, in the trace of a session: `docs/concepts/intra-kernel.md`."""

from __future__ import annotations

import time
from collections.abc import Iterator

from kinetograph import _native
from kinetograph.hints import Any
from kinetograph.intra_kernel import live
from kinetograph.session.kernel_records import KernelRecords, write_kernel_records
from kinetograph.trace import Trace

__all__ = ["CLOCK", "InsideKernels", "add_records", "clocks_of"]

CLOCK = "intra_kernel_clock"
"""Metadata that the native side writes: for each device, how its clock and ours are related."""

_CAPTURING = "profiler buffers were not read: a CUDA graph is being captured"


class InsideKernels:
    """The part of one session in all profiler buffers. Costs nothing until it joins."""

    def __init__(self, *, on_device: bool, on_host: bool, limit_bytes: int) -> None:
        self._gathering = live.Gathering(on_device=on_device, on_host=on_host, limit_bytes=limit_bytes)
        self._wall_clock = _WallClock()

    def join(self, trace: Trace) -> None:
        """Read the buffers, and add to the trace what was recorded within its window."""
        if _is_capturing():
            trace.add_note("intra_kernel", _CAPTURING)
            return
        add_records(trace, self._read())
        for sentence in self._gathering.notes():
            trace.add_note("intra_kernel", sentence)

    def leave(self, path: str) -> Iterator[str]:
        """For a session that nobody stops: what `join` would add, in a file for those who build its trace.

        Says what is missing.
        """
        if _is_capturing():
            yield _CAPTURING
            return
        read = self._read()
        if read.contents:
            write_kernel_records(path, read)
        yield from self._gathering.notes()

    def _read(self) -> KernelRecords:
        contents = self._gathering.finish()
        devices = sorted({device for _data, _names, device in contents if device != live.HOST})
        return KernelRecords(contents, self._wall_clock.measured(devices))

    def close(self) -> None:
        self._gathering.close()


def add_records(trace: Trace, records: KernelRecords) -> None:
    if records.contents:
        _native.join_intra_kernel(trace.native, records.contents, records.measured)
        _state_error(trace)


def clocks_of(trace: Trace, whose: str) -> list[dict[str, Any]]:
    """How the clocks of the devices of this trace and ours are related, for one of several traces."""
    clocks = trace.metadata.get(CLOCK)
    if not isinstance(clocks, list):
        return []
    return [{"of": whose, **clock} for clock in clocks if isinstance(clock, dict)]


class _WallClock:
    """What lies between the clock of calibrations and that of the trace, set when a session starts."""

    def __init__(self) -> None:
        before_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        wall_ns = time.time_ns()
        after_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        self._error_ns = (after_ns - before_ns + 1) // 2
        self._offset_ns = wall_ns - before_ns - self._error_ns

    def measured(self, devices: list[int]) -> list[tuple[int, int, int, int]]:
        """What calibrations say of the devices, one of this moment among them."""
        return [calibration for device in devices for calibration in self._calibrations(device)]

    def _calibrations(self, device: int) -> Iterator[tuple[int, int, int, int]]:
        from kinetograph.intra_kernel.calibration import calibrate, calibrations

        calibrate(device)
        for at_ns, offset_ns, error_ns in calibrations(device):
            yield device, at_ns, offset_ns + self._offset_ns, error_ns + self._error_ns


def _state_error(trace: Trace) -> None:
    clocks: list[dict[str, Any]] = trace.metadata.get(CLOCK, [])
    for clock in clocks:
        if clock["device"] >= 0 and "error_ns" in clock:
            how = "by its kernels" if clock["source"] == "kernels" else "by a calibration, without kernels"
            trace.add_note(
                "clock",
                f"records inside kernels of GPU {clock['device']} are within {clock['error_ns']:,} ns of the"
                f" times of the trace, {how}",
            )


def _is_capturing() -> bool:
    """To read means to wait for the device, which would break the capture."""
    from kinetograph.session.cuda import torch_is_capturing

    return torch_is_capturing() or _native.cuda_graph_is_captured()

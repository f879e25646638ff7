"""What kernels record of themselves, in the trace of a session: `docs/concepts/intra-kernel.md`."""

from __future__ import annotations

import time
from collections.abc import Iterator

from kinetograph import _native
from kinetograph.hints import Any
from kinetograph.intra_kernel import live
from kinetograph.trace import Trace

__all__ = ["InsideKernels"]

_CLOCK = "intra_kernel_clock"
"""Metadata that the native side writes: for each device, how its clock and ours are related."""


class InsideKernels:
    """The part of one session in all profiler buffers. Costs nothing until it joins."""

    def __init__(self) -> None:
        self._gathering = live.Gathering()
        self._wall_clock = _WallClock()

    def join(self, trace: Trace, *, on_device: bool, on_host: bool) -> None:
        """Read the buffers, and add to the trace what was recorded within its window."""
        if _is_capturing():
            trace.add_note("intra_kernel", "profiler buffers were not read: a CUDA graph is being captured")
            return
        read = self._gathering.finish()
        wanted = [contents for contents in read if (on_device if contents[2] >= 0 else on_host)]
        if wanted:
            devices = sorted({device for _data, _names, device in wanted if device >= 0})
            _native.join_intra_kernel(trace.native, wanted, self._wall_clock.measured(devices))
            _state_error(trace)
        for sentence in self._gathering.notes():
            trace.add_note("intra_kernel", sentence)

    def notes_unread(self) -> Iterator[str]:
        """For a session that nobody stops: its file has no place for what kernels recorded."""
        if self._gathering.unread():
            yield "records from inside kernels are only in traces of sessions that the program stops itself"

    def close(self) -> None:
        self._gathering.close()


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
    clocks: list[dict[str, Any]] = trace.metadata.get(_CLOCK, [])
    for clock in clocks:
        if clock["device"] >= 0 and "error_ns" in clock:
            how = "by its kernels" if clock["source"] == "kernels" else "by a calibration, without kernels"
            trace.add_note(
                "clock",
                f"records inside kernels of GPU {clock['device']} are within {clock['error_ns']:,} ns of the"
                f" times of the trace, {how}",
            )


def _is_capturing() -> bool:
    from kinetograph.session.cuda import torch_is_capturing

    return torch_is_capturing()

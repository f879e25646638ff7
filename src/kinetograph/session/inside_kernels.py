"""What kernels record of themselves, in the trace of a session: `docs/concepts/intra-kernel.md`."""

from __future__ import annotations

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
        return KernelRecords(contents, _measured(devices))

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


def _measured(devices: list[int]) -> list[tuple[int, int, int, int]]:
    if not devices:
        return []
    from kinetograph.intra_kernel.calibration import calibrate

    return [(device, *found) for device in devices if (found := calibrate(device)) is not None]


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
    from kinetograph.session.cuda import torch_is_capturing

    return torch_is_capturing()

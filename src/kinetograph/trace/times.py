"""Times as PyTorch's events and averages name and print them: microseconds, and text with a unit.

`Event` and `Average` have the same names, so that what reads or prints one does the same with the other.
"""

from __future__ import annotations

from kinetograph.hints import Protocol

__all__ = ["TorchTimes", "time_text"]

_UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3}


def time_text(time_ns: float, unit: str | None = None) -> str:
    """
    >>> time_text(1_500), time_text(2_000_000), time_text(2_000_000, "s")
    ('1.500us', '2.000ms', '0.002s')
    """
    if unit is None:
        unit = next((name for name, unit_ns in _UNITS.items() if time_ns >= unit_ns), "us")
    return f"{time_ns / _UNITS[unit]:.3f}{unit}"


class _HasTimes(Protocol):
    @property
    def count(self) -> int: ...
    @property
    def cpu_time_total_ns(self) -> int: ...
    @property
    def self_cpu_time_total_ns(self) -> int: ...
    @property
    def device_time_total_ns(self) -> int: ...
    @property
    def self_device_time_total_ns(self) -> int: ...


class TorchTimes:
    """Whoever has the four times in nanoseconds, and a count, gets all of PyTorch's names for them."""

    __slots__ = ()

    @property
    def cpu_time_total(self: _HasTimes) -> float:
        """Microseconds on the host, with what was called."""
        return self.cpu_time_total_ns / 1e3

    @property
    def self_cpu_time_total(self: _HasTimes) -> float:
        return self.self_cpu_time_total_ns / 1e3

    @property
    def device_time_total(self: _HasTimes) -> float:
        """Microseconds of the work on devices that was launched in here."""
        return self.device_time_total_ns / 1e3

    @property
    def self_device_time_total(self: _HasTimes) -> float:
        return self.self_device_time_total_ns / 1e3

    @property
    def cpu_time(self: _HasTimes) -> float:
        """Microseconds per call."""
        return self.cpu_time_total_ns / 1e3 / self.count if self.count else 0.0

    @property
    def device_time(self: _HasTimes) -> float:
        return self.device_time_total_ns / 1e3 / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        return time_text(self.cpu_time * 1e3)  # type: ignore[misc]

    @property
    def cpu_time_total_str(self: _HasTimes) -> str:
        return time_text(self.cpu_time_total_ns)

    @property
    def self_cpu_time_total_str(self: _HasTimes) -> str:
        return time_text(self.self_cpu_time_total_ns)

    @property
    def device_time_str(self) -> str:
        return time_text(self.device_time * 1e3)  # type: ignore[misc]

    @property
    def device_time_total_str(self: _HasTimes) -> str:
        return time_text(self.device_time_total_ns)

    @property
    def self_device_time_total_str(self: _HasTimes) -> str:
        return time_text(self.self_device_time_total_ns)

    # What PyTorch called them when there was one kind of device

    @property
    def cuda_time(self) -> float:
        return self.device_time  # type: ignore[misc]

    @property
    def cuda_time_total(self) -> float:
        return self.device_time_total  # type: ignore[misc]

    @property
    def self_cuda_time_total(self) -> float:
        return self.self_device_time_total  # type: ignore[misc]

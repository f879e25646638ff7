"""Times as PyTorch's events and averages name and print them: microseconds, and text with a unit.

`Event` and `Average` have the same names, so that what reads or prints one does the same with the other.
"""

from __future__ import annotations

from kinetograph.hints import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kinetograph.trace.event_parts import Totals

__all__ = ["TorchTimes", "share_text", "time_text"]

_UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3}


def time_text(time_ns: float, unit: str | None = None) -> str:
    """
    >>> time_text(1_500), time_text(2_000_000), time_text(2_000_000, "s")
    ('1.500us', '2.000ms', '0.002s')
    """
    if unit is None:
        unit = next((name for name, unit_ns in _UNITS.items() if time_ns >= unit_ns), "us")
    return f"{time_ns / _UNITS[unit]:.3f}{unit}"


def share_text(time_ns: float, of_ns: float) -> str:
    """
    >>> share_text(1, 3), share_text(0, 0)
    ('33.33%', 'NaN')
    """
    return f"{100 * time_ns / of_ns:.2f}%" if of_ns else "NaN"


class _HasTimes(Protocol):
    @property
    def is_async(self) -> bool: ...
    @property
    def totals(self) -> Totals: ...
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

    # Shares of the host's or the devices' time: of an event in the whole trace, of an average in its table.

    @property
    def self_cpu_percent(self: _HasTimes) -> str:
        """As the table shows it; in PyTorch it is -1 until `table()` was called."""
        return share_text(self.self_cpu_time_total_ns, self.totals.cpu_ns)

    @property
    def total_cpu_percent(self: _HasTimes) -> str:
        return "0" if self.is_async else share_text(self.cpu_time_total_ns, self.totals.cpu_ns)

    @property
    def total_device_percent(self: _HasTimes) -> str:
        """Of its own time on devices, whatever the name says: that is PyTorch's."""
        return share_text(self.self_device_time_total_ns, self.totals.device_ns)

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

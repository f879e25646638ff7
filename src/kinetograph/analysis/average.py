"""One row of a report: what the spans of one name have in common, and their sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kinetograph.trace import DeviceType, Event
from kinetograph.trace.event_parts import Totals
from kinetograph.trace.times import TorchTimes

__all__ = ["FIELDS", "Average"]

# The columns of the native matrix, in the order of the fields below; averages.h says what they mean.
FIELDS = (
    "row",
    "count",
    "outermost_count",
    "cpu_time_total_ns",
    "self_cpu_time_total_ns",
    "min_ns",
    "max_ns",
    "device_time_total_ns",
    "self_device_time_total_ns",
    "cpu_memory_usage",
    "self_cpu_memory_usage",
    "device_memory_usage",
    "self_device_memory_usage",
    "flops",
)


@dataclass(frozen=True, slots=True)
class Average(TorchTimes):
    """All spans of one name: PyTorch's `FunctionEventAvg`. Times in `_ns` are exact, the others microseconds.

    A span inside another one of the same name is in the total time of that one, and not counted again.
    """

    key: str
    event: Event | None
    """The earliest of them; None for the sum of a table."""
    input_shapes: Any
    stack: tuple[str, ...]
    overload_name: str
    use_device: str | None
    totals: Totals
    """Of all rows of the table it is in."""
    count: int
    """Calls; the runs of a generator belong to its call."""
    outermost_count: int
    cpu_time_total_ns: int
    self_cpu_time_total_ns: int
    min_ns: int
    max_ns: int
    device_time_total_ns: int
    self_device_time_total_ns: int
    cpu_memory_usage: int
    self_cpu_memory_usage: int
    device_memory_usage: int
    self_device_memory_usage: int
    flops: int

    node_id: ClassVar[int] = -1
    is_remote: ClassVar[bool] = False
    is_legacy: ClassVar[bool] = False

    @property
    def category(self) -> str:
        return self.event.category if self.event else ""

    @property
    def device_type(self) -> DeviceType:
        return self.event.device_type if self.event else DeviceType.CPU

    @property
    def scope(self) -> int | None:
        return self.event.scope if self.event else None

    @property
    def is_async(self) -> bool:
        return self.event is not None and self.event.is_async

    @property
    def is_user_annotation(self) -> bool:
        return self.event is not None and self.event.is_user_annotation

    @property
    def is_python_function(self) -> bool:
        return self.event is not None and self.event.is_python_function

    @property
    def cpu_parent(self) -> Event | None:
        """Of the earliest span."""
        return self.event.cpu_parent if self.event else None

    @property
    def cpu_children(self) -> list[Event]:
        return self.event.cpu_children if self.event else []

    def to_row(self) -> dict[str, Any]:
        """Plain numbers and texts, for a data frame or a file."""
        numbers = {name: getattr(self, name) for name in FIELDS if name != "row"}
        texts = {
            "input_shapes": self.input_shapes,
            "stack": list(self.stack),
            "overload_name": self.overload_name,
        }
        return {"key": self.key, "category": self.category, "device": self.device_type.name} | numbers | texts

    def __repr__(self) -> str:
        times = f"cpu_time={self.cpu_time_str} self_cpu_time={self.self_cpu_time_total_str}"
        return f"<Average {self.key!r} count={self.count} {times} device_time={self.device_time_str}>"

"""How often each name ran, and how long: the table behind `kinetograph summary`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kinetograph.trace import DeviceType, Trace

__all__ = ["SORT_KEYS", "NameTotal", "totals"]

# Spans of the program, drawn around the device's work that they caused: no work themselves.
_DEVICE_ANNOTATION = "gpu_user_annotation"

SORT_KEYS = ("self", "total", "count", "average", "min", "max", "name")


@dataclass(frozen=True, order=True, slots=True)
class NameTotal:
    """All spans of one name and category."""

    name: str
    category: str
    is_on_device: bool
    count: int
    total_ns: int
    self_ns: int
    min_ns: int
    max_ns: int

    @property
    def average_ns(self) -> float:
        return self.total_ns / self.count

    @property
    def is_device_annotation(self) -> bool:
        """It covers the work of a device, and the time between."""
        return self.category == _DEVICE_ANNOTATION


def totals(trace: Trace, *, sort: str = "self", categories: Iterable[str] = ()) -> list[NameTotal]:
    """Group the spans of a trace by name and category, the largest first.

    >>> totals(trace)[0].name
    'aten::mm'

    `sort` is one of SORT_KEYS; `categories` keeps only those.
    """
    wanted = frozenset(categories)
    rows = (row for row in _rows(trace) if not wanted or row.category in wanted)
    if sort == "name":
        return sorted(rows)
    field = sort if sort == "count" else f"{sort}_ns"
    return sorted(rows, key=lambda row: (-getattr(row, field), row.name, row.category))


def _rows(trace: Trace) -> Iterable[NameTotal]:
    names, categories, on_device = trace.names, trace.categories, _device_categories(trace)
    for name, category, *numbers in zip(*trace.native.totals(), strict=True):
        yield NameTotal(names[name], categories[category], category in on_device, *numbers)


def _device_categories(trace: Trace) -> frozenset[int]:
    """Categories whose events lie, most of them, on tracks of devices."""
    import numpy as np

    is_device = np.array([track.device_type is not DeviceType.CPU for track in trace.tracks], dtype=bool)
    if not is_device.any():
        return frozenset()
    column = trace.columns["category"]
    events = np.bincount(column)
    on_device = np.bincount(column[is_device[trace.columns["track"]]], minlength=len(events))
    return frozenset(np.flatnonzero(2 * on_device > events).tolist())

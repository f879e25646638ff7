"""How often each name ran, and how long: the table behind `kinetograph summary`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kinetograph.trace import Trace

__all__ = ["SORT_KEYS", "NameTotal", "totals"]

_DEVICE_CATEGORIES = frozenset(
    {
        "cuda_event",
        "cuda_sync",
        "gpu_memcpy",
        "gpu_memset",
        "gpu_user_annotation",
        "hpu_op",
        "intra_kernel",
        "kernel",
        "mtia_ccp_events",
        "mtia_insight",
        "xpu_sync",
    }
)

SORT_KEYS = ("self", "total", "count", "average", "min", "max", "name")


@dataclass(frozen=True, order=True, slots=True)
class NameTotal:
    """All spans of one name and category."""

    name: str
    category: str
    count: int
    total_ns: int
    self_ns: int
    min_ns: int
    max_ns: int

    @property
    def average_ns(self) -> float:
        return self.total_ns / self.count

    @property
    def is_on_device(self) -> bool:
        return self.category in _DEVICE_CATEGORIES


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
    names, categories = trace.names, trace.categories
    for name, category, *numbers in zip(*trace.native.totals(), strict=True):
        yield NameTotal(names[name], categories[category], *numbers)

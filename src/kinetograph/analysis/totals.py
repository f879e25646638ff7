"""How often each name ran, and how long: the table behind `kinetograph summary`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kinetograph.trace import Trace

__all__ = ["SORT_KEYS", "NameTotal", "totals"]

_DEVICE_CATEGORIES = frozenset(
    "kernel gpu_memcpy gpu_memset gpu_user_annotation cuda_sync cuda_event intra_kernel hpu_op "
    "mtia_ccp_events mtia_insight xpu_sync".split()
)

SORT_KEYS = ("self", "total", "count", "average", "min", "max", "name")


class NameTotal(NamedTuple):
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

    >>> totals(trace)[0]
    NameTotal(name='aten::mm', category='cpu_op', count=12, total_ns=3400, self_ns=3100, min_ns=210, max_ns=400)

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

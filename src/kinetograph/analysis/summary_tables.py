"""The tables of `kinetograph summary`: the host, Python functions, devices, and annotations on devices.

What kernels record of themselves has a table of its own kind: `task_times.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from kinetograph.analysis.average import Average
from kinetograph.analysis.averages import Averages
from kinetograph.analysis.call_tree import duration_text
from kinetograph.analysis.grid import Grid, Heading
from kinetograph.trace.words import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SORT_KEYS", "summary_tables"]

# What the columns of these tables are called, and the sort keys of averages on the host and on devices.
SORT_KEYS = {
    "self": ("self_cpu_time_total", "self_device_time_total"),
    "total": ("cpu_time_total", "device_time_total"),
    "count": ("count", "count"),
    "average": ("cpu_time", "device_time"),
    "min": ("min_time", "min_time"),
    "max": ("max_time", "max_time"),
    "device": ("device_time_total", "device_time_total"),
    "name": ("key", "key"),
}

_PYTHON = "Python functions"


class Part(NamedTuple):
    """Averages that belong into one table."""

    title: str
    averages: Averages
    all_self_ns: int
    is_on_device: bool

    def self_ns(self, row: Average) -> int:
        return row.self_device_time_total_ns if self.is_on_device else row.self_cpu_time_total_ns

    def total_ns(self, row: Average) -> int:
        return row.device_time_total_ns if self.is_on_device else row.cpu_time_total_ns


def summary_tables(averages: Averages, sort_by: str, limit: int) -> list[Grid]:
    """At most `limit` rows each, the largest first; parts that are empty have no table."""
    return [_table(part, sort_by, limit) for part in _parts(averages) if len(part.averages)]


def _parts(averages: Averages) -> Iterator[Part]:
    averages = averages.where(~_has_category(averages, "intra_kernel"))
    on_device = averages.is_on_device
    is_python = _has_category(averages, "python_function") & ~on_device
    is_annotation = _has_category(averages, "gpu_user_annotation") & on_device
    host_ns, device_ns = averages.self_cpu_time_total_ns, averages.self_device_time_total_ns
    yield Part("Host", averages.where(~on_device & ~is_python), host_ns, False)
    yield Part(_PYTHON, averages.where(is_python), host_ns, False)
    yield Part("Device", averages.where(on_device & ~is_annotation), device_ns, True)
    annotations = averages.where(is_annotation)
    all_annotations_ns = int(annotations.column("self_device_time_total_ns").sum())
    yield Part("Device annotations", annotations, all_annotations_ns, True)


def _has_category(averages: Averages, category: str) -> NDArray[Any]:
    trace = averages.trace
    mask: NDArray[Any] = trace.columns["category"][averages.column("row")] == trace.categories.index(category)
    return mask


class Column(NamedTuple):
    heading: Heading
    cell: Callable[[Average], str]


def _table(part: Part, sort_by: str, limit: int) -> Grid:
    shown = part.averages.sort(SORT_KEYS[sort_by][part.is_on_device])[:limit]
    columns = list(_columns(part, shown))
    cells = [[column.cell(average) for column in columns] for average in shown]
    left_out = len(part.averages) - len(cells)
    captions = [f"{counted(left_out, 'more name')}; --limit shows more"] if left_out else []
    return Grid([column.heading for column in columns], cells, part.title, captions)


def _columns(part: Part, shown: Averages) -> Iterator[Column]:
    """The name stands last and whole: it may be of any length, and scripts can cut it off the line."""
    of_all = part.all_self_ns or 1
    self_ns, total_ns = part.self_ns, part.total_ns
    yield Column(Heading("Self"), lambda row: duration_text(self_ns(row)))
    yield Column(Heading("Self %", rank=2), lambda row: f"{100 * self_ns(row) / of_all:.1f}")
    yield Column(Heading("Total", rank=1), lambda row: duration_text(total_ns(row)))
    yield Column(Heading("Count"), lambda row: f"{row.count:,}")
    yield Column(Heading("Average", rank=3), lambda row: duration_text(total_ns(row) / max(row.count, 1)))
    yield Column(Heading("Min", rank=6), lambda row: duration_text(row.min_ns))
    yield Column(Heading("Max", rank=5), lambda row: duration_text(row.max_ns))
    if not part.is_on_device and part.averages.column("device_time_total_ns").any():
        yield Column(Heading("Device", rank=1), _device_time)
    if part.title != _PYTHON:
        yield Column(Heading("Category", is_text=True, rank=4), lambda row: row.category)
    yield from _details(shown)
    yield Column(Heading("Name", is_text=True, is_name=True), lambda row: row.key)


def _device_time(row: Average) -> str:
    return duration_text(row.device_time_total_ns) if row.device_time_total_ns else ""


def _details(shown: Averages) -> Iterator[Column]:
    """What tells equal names apart, if anything was asked for."""
    if any(row.input_shapes for row in shown):
        yield Column(Heading("Shapes", is_text=True, rank=7), lambda row: str(row.input_shapes))
    if any(row.stack for row in shown):
        yield Column(Heading("Called from", is_text=True, rank=8), lambda row: " < ".join(row.stack))

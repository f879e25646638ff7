"""What the tasks of kernels took, where records from inside them are part of the trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kinetograph import _native
from kinetograph.analysis.call_tree import duration_text
from kinetograph.analysis.grid import Grid, Heading
from kinetograph.trace import Trace
from kinetograph.trace.words import counted

__all__ = ["TaskTimes", "task_table", "task_times"]

_VISIBLE_SHARE = 0.05
"""From here on the recording itself changes what is measured, and that is said."""


@dataclass(frozen=True, slots=True)
class TaskTimes:
    """The ranges of one name in the launches of one kernel. Times in nanoseconds."""

    kernel: str
    """Empty where it is not known: in the trace of a buffer alone."""
    task: str
    count: int
    total_ns: int
    p50_ns: int
    p99_ns: int
    share: float
    """Of the time of the kernel's blocks, each from its first record to its last."""
    imbalance: float
    """What the SM with most of it had, over the mean of all SMs: 1 is even. Launch by launch."""
    tail_ns: int
    """How long an SM, on average, had no more of it before the last SM was done."""
    recording: float
    """Which share of the time of the kernel's blocks went into recording, about."""

    @property
    def mean_ns(self) -> float:
        return self.total_ns / max(self.count, 1)


def task_times(trace: Trace) -> list[TaskTimes]:
    """One row for each task of each kernel, those with the largest total first."""
    rows = [TaskTimes(*row) for row in _native.intra_kernel_task_times(trace.native)]
    return sorted(rows, key=lambda row: -row.total_ns)


_SORT_KEYS: dict[str, Callable[[TaskTimes], Any]] = {
    "count": lambda row: -row.count,
    "average": lambda row: -row.mean_ns,
    "name": lambda row: row.task,
}

_COLUMNS: tuple[tuple[Heading, Callable[[TaskTimes], str]], ...] = (
    (Heading("Total"), lambda row: duration_text(row.total_ns)),
    (Heading("Share %"), lambda row: f"{100 * row.share:.1f}"),
    (Heading("Count", rank=1), lambda row: f"{row.count:,}"),
    (Heading("Mean", rank=2), lambda row: duration_text(row.mean_ns)),
    (Heading("p50", rank=5), lambda row: duration_text(row.p50_ns)),
    (Heading("p99", rank=4), lambda row: duration_text(row.p99_ns)),
    (Heading("Imbalance", rank=3), lambda row: f"{row.imbalance:.2f}"),
    (Heading("Tail", rank=3), lambda row: duration_text(row.tail_ns)),
    (Heading("Task", is_text=True, is_name=True), lambda row: row.task),
)
_KERNEL = Heading("Kernel", is_text=True, rank=6), lambda row: row.kernel


def task_table(trace: Trace, sort_by: str = "total", limit: int = 20) -> Grid | None:
    """As `kinetograph summary` shows it; None where nothing was recorded inside kernels."""
    rows = task_times(trace)
    if not rows:
        return None
    if sort_by in _SORT_KEYS:
        rows.sort(key=_SORT_KEYS[sort_by])
    shown = rows[:limit]
    columns = [*_COLUMNS[:-1], *([_KERNEL] if any(row.kernel for row in rows) else []), _COLUMNS[-1]]
    captions = _warnings(rows)
    if len(rows) > len(shown):
        captions.append(f"{counted(len(rows) - len(shown), 'more task')}; --limit shows more")
    cells = [[cell(row) for _heading, cell in columns] for row in shown]
    return Grid([heading for heading, _cell in columns], cells, "Inside kernels", captions)


def _warnings(rows: list[TaskTimes]) -> list[str]:
    shares = {row.kernel or "these kernels": row.recording for row in rows}
    return [
        f"recording takes about {100 * share:.0f} % of the time of {kernel}: record less often"
        for kernel, share in shares.items()
        if share >= _VISIBLE_SHARE
    ]

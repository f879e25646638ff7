"""The work on devices that each event launched, put in order once.

To look through the whole trace for each event anew takes hours where there are a million.
"""

from __future__ import annotations

import numpy as np

from kinetograph.hints import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kinetograph.trace.trace import Trace

__all__ = ["LaunchedWork", "work_by_launcher", "work_by_operator"]


class LaunchedWork:
    """Two columns as long as there is work, 16 bytes each."""

    def __init__(self, launchers: NDArray[Any], work: NDArray[Any]) -> None:
        order = np.lexsort((work, launchers))
        self._launchers, self._work = launchers[order], work[order]

    def of(self, row: int) -> list[int]:
        """Rows, in their order."""
        first, end = self._launchers.searchsorted((row, row + 1))
        rows: list[int] = self._work[first:end].tolist()
        return rows


def work_by_launcher(trace: Trace) -> LaunchedWork:
    """By the event that it counts for itself."""
    launchers = trace.columns["launcher"]
    work = (launchers >= 0).nonzero()[0]
    return LaunchedWork(launchers[work], work)


def work_by_operator(trace: Trace) -> LaunchedWork:
    """By that one, and where it is a Python function, by the operator or scope around the launch as well."""
    launchers, links = trace.columns["launcher"], trace.columns["link"]
    work = (launchers >= 0).nonzero()[0]
    linked = work[(links[work] >= 0) & (links[work] != launchers[work])]
    return LaunchedWork(
        np.concatenate((launchers[work], links[linked])),
        np.concatenate((work, linked)),
    )

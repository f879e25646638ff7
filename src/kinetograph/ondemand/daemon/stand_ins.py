"""A stand-in for each process of PyTorch that polls, as long as it is there."""

from __future__ import annotations

from collections.abc import Callable

from kinetograph.errors import KinetographError
from kinetograph.ondemand.daemon.kineto_processes import KinetoProcess
from kinetograph.ondemand.daemon.stand_in import StandIn

__all__ = ["StandIns"]


class StandIns:
    def __init__(self, captures: Callable[[], str], tell: Callable[[str], None]) -> None:
        """`captures` gives a directory for their files. `tell` hears of processes that cannot be listed."""
        self._captures = captures
        self._tell = tell
        self._known: dict[int, StandIn] = {}
        self._unlisted: set[int] = set()

    def polled(self, process: KinetoProcess) -> None:
        """Every few seconds: one that could not be listed may be, and a file that is gone comes back."""
        try:
            if process.pid in self._known:
                self._known[process.pid].look_after_file()
            else:
                self._known[process.pid] = StandIn(process, self._captures)
        except (KinetographError, OSError) as error:  # no descriptor is left, or no directory for it
            if process.pid not in self._unlisted:
                self._tell(f"process {process.pid} of PyTorch cannot be listed: {error}")
            self._unlisted.add(process.pid)

    def ended(self, process: KinetoProcess) -> None:
        self._unlisted.discard(process.pid)
        if process.pid in self._known:
            self._known.pop(process.pid).retire()

    async def close(self) -> None:
        for stand_in in [*self._known.values()]:
            await stand_in.close()

"""The events of a trace as a sequence that holds none of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

from kinetograph.trace.event import Event
from kinetograph.trace.words import counted

if TYPE_CHECKING:
    from kinetograph.trace.trace import Trace

__all__ = ["Events"]


class Events(Sequence[Event]):
    """Index, slice, iterate: each `Event` is made when asked for."""

    def __init__(self, trace: Trace, rows: range) -> None:
        self._trace = trace
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Events: ...
    def __getitem__(self, index: int | slice) -> Event | Events:
        if isinstance(index, slice):
            return Events(self._trace, self._rows[index])
        return Event(self._trace, self._rows[index])

    def __iter__(self) -> Iterator[Event]:
        return (Event(self._trace, row) for row in self._rows)

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'event')}>"

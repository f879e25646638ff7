"""What `disable_profiler` gives back."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from kinetograph.trace import Trace
from kinetograph.trace.events import Events

if TYPE_CHECKING:
    from kinetograph.analysis.tree import EventNode

__all__ = ["ProfilerResult"]


class ProfilerResult:
    """A finished recording, under Kineto's names; `trace` is the thing itself."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    @property
    def trace_start_ns(self) -> int:
        """When the session began, in nanoseconds of wall time."""
        return self.trace.start_ns

    @property
    def events(self) -> Events:
        return self.trace.events

    @property
    def event_tree(self) -> list[EventNode]:
        """The outermost events, each with its children."""
        from kinetograph.analysis.tree import event_tree

        return event_tree(self.trace)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the trace; as often and in as many formats as you like."""
        self.trace.save(path)

    def __repr__(self) -> str:
        return f"<ProfilerResult of {self.trace!r}>"

"""What `disable_profiler` gives back."""

from __future__ import annotations

from os import PathLike

from kinetograph.hints import TYPE_CHECKING
from kinetograph.trace import Trace
from kinetograph.trace.events import Events

if TYPE_CHECKING:
    from kinetograph.analysis.averages import Averages
    from kinetograph.analysis.tree import EventNode

__all__ = ["ProfilerResult"]


# What is above a trace is imported where it is asked for: `import kinetograph` loads this module.


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

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python: bool = False,
    ) -> Averages:
        """Counts and times by name: `Trace.key_averages`."""
        from kinetograph.analysis.averages import key_averages

        options = (group_by_input_shape, group_by_stack_n, group_by_overload_name, include_python)
        return key_averages(self.trace, *options)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the trace; as often and in as many formats as you like."""
        self.trace.save(path)

    def __repr__(self) -> str:
        return f"<ProfilerResult of {self.trace!r}>"

"""The events of a trace as a sequence that holds none of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike

from kinetograph.errors import KinetographError
from kinetograph.hints import TYPE_CHECKING, Any, overload
from kinetograph.trace.event import Event
from kinetograph.trace.formats import saver_named
from kinetograph.trace.words import counted

if TYPE_CHECKING:
    from kinetograph.trace.trace import Trace

__all__ = ["Events"]


class Events(Sequence[Event]):
    """Index, slice, iterate: each `Event` is made when asked for. Does what PyTorch's `EventList` does."""

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

    def __str__(self) -> str:
        """The table, whose first hundred rows are shown."""
        return self.table()

    # What PyTorch's EventList does

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python: bool = False,
    ) -> Any:
        """`Trace.key_averages`, of all events."""
        trace = self._whole("key_averages")
        return trace.key_averages(
            group_by_input_shapes, group_by_stack_n, group_by_overload_name, include_python
        )

    def table(self, *args: Any, include_python: bool = False, **options: Any) -> str:
        """A row for each span; the options are those of `Averages.table`."""
        table: str = self._singly(include_python).table(*args, **options)
        return table

    def total_average(self) -> Any:
        """All spans in one `Average`."""
        return self._singly(include_python=True).total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of the host, each counted once."""
        total: float = self._singly(include_python=True).self_cpu_time_total
        return total

    def export_stacks(self, path: str | PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Write folded stacks, for flame graphs."""
        from kinetograph.trace.reports import report

        report("export_stacks")(self._whole("export_stacks"), path, metric)

    def supported_export_stacks_metrics(self) -> list[str]:
        from kinetograph.trace.reports import report

        return list(report("STACK_METRICS"))

    def export_chrome_trace(self, path: str | PathLike[str]) -> None:
        """Write Chrome JSON, whatever the suffix; `.gz` compresses."""
        saver_named(".json")(self._whole("export_chrome_trace"), path)

    def _singly(self, include_python: bool) -> Any:
        from kinetograph.trace.reports import report

        return report("single_events")(self._trace, self._rows, include_python)

    def _whole(self, method: str) -> Trace:
        if self._rows != range(len(self._trace)):
            raise KinetographError(
                f"{method}: expected the events of a whole trace, got {len(self)} of {len(self._trace)}",
                hint=f"call trace.events.{method}(), and choose from what it gives",
            )
        return self._trace

"""What one can ask of a profile that has finished a trace: files, tables, events, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike

from kinetograph.checks import require_callable, require_text
from kinetograph.errors import NotAvailable, StateError, UsageError
from kinetograph.hints import TYPE_CHECKING, Any
from kinetograph.trace.json_text import encodable, strict_json, to_json
from kinetograph.trace.trace import require_free_key

if TYPE_CHECKING:
    from kinetograph.session.cycle import Cycle
    from kinetograph.trace import Trace
    from kinetograph.trace.events import Events

__all__ = ["ProfileOutputs"]


class ProfileOutputs:
    """The half of `profile` that looks back."""

    acc_events: bool
    custom_trace_id_callback: Callable[[], str] | None
    profiler: Cycle | None

    def __init__(self) -> None:
        self.preset_metadata: dict[str, str] = {}
        self._metadata: dict[str, str] = {}
        self._traces: list[Trace] = []
        self._joined: Trace | None = None
        """All of them in one, once somebody has asked for it."""

    @property
    def trace(self) -> Trace:
        """The trace of the last cycle that was finished."""
        if not self._traces:
            raise StateError(
                "this profile has finished no trace yet", hint="ask after stop(), or in on_trace_ready"
            )
        return self._traces[-1]

    def events(self) -> Events:
        """The events of the last cycle, or of all of them with `acc_events`."""
        return self._reported().events

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> Any:
        """What `events` take, summed up by name; `.table(sort_by=..., row_limit=...)` prints it."""
        return self._reported().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str | PathLike[str], use_python_export: bool = False) -> None:
        """Write the trace of the last cycle as Chrome JSON, compressed if the path ends in `.gz`.

        As often as you like. Another suffix that `Trace.save` knows gives its format. There is one writer
        here, so `use_python_export` changes nothing.
        """
        from kinetograph.session.reports import save_as_told

        save_as_told(self.trace, path)

    def export_stacks(self, path: str | PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Write folded stacks, one line a stack with its `metric`, as flame graphs are drawn from."""
        from kinetograph.session.reports import save_stacks

        save_stacks(self._reported(), path, metric)

    def export_memory_timeline(self, path: str | PathLike[str], device: str | None = None) -> None:
        """Not available yet: the timeline comes with the memory part."""
        raise NotAvailable(
            "export_memory_timeline is not available yet: allocations come with the memory part",
            hint="kg.report_memory_usage records what an allocator tells today",
        )

    def add_metadata(self, key: str, value: str) -> None:
        """Put a text under a top-level key of the trace, and of those that this profile finishes later."""
        require_text("value", value, hint="add_metadata_json takes other values, as JSON")
        self._add(key, to_json(encodable(value)))

    def add_metadata_json(self, key: str, value: str) -> None:
        """The same for a value that is given as JSON text."""
        self._add(key, _checked_json(key, value))

    def preset_metadata_json(self, key: str, value: str) -> None:
        """The same before the start; what is added later under this key replaces it."""
        require_free_key(key)
        self.preset_metadata[key] = _checked_json(key, value)

    def set_custom_trace_id_callback(self, callback: Callable[[], str] | None) -> None:
        """Let `callback` name the traces of the cycles to come."""
        if callback is not None:
            require_callable(
                "custom_trace_id_callback", callback, hint="pass a function that returns a string"
            )
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        """Of the cycle that runs or was the last; None before the first."""
        return None if self.profiler is None else self.profiler.trace_id

    def _add(self, key: str, json: str) -> None:
        require_free_key(key)
        self._metadata[key] = json
        if self._traces:
            self._traces[-1].native.set_metadata(encodable(key), json)

    def _keep(self, trace: Trace) -> None:
        """Take in the trace of a cycle that has ended."""
        for key, json in (self.preset_metadata | self._metadata).items():
            trace.native.set_metadata(encodable(key), json)
        before = [known for known in self._traces if self.acc_events and known is not trace]
        self._traces = [*before, trace]
        self._joined = None

    def _reported(self) -> Trace:
        if not self.acc_events or len(self._traces) < 2:
            return self.trace
        if self._joined is None:
            from kinetograph.session.reports import together

            self._joined = together(self._traces)
        return self._joined


def _checked_json(key: str, value: str) -> str:
    require_text("value", value, hint="JSON as text, such as '3' or '\"three\"'")
    try:
        return to_json(strict_json(value))
    except ValueError as error:
        raise UsageError(
            f"metadata[{key!r}]: expected JSON, got {value[:200]!r}: {error}",
            hint="add_metadata takes any text; json.dumps makes JSON of other values",
        ) from None

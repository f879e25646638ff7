"""What a row of a trace tells, under Kineto's and our own names; `event.py` adds PyTorch's."""

from __future__ import annotations

from kinetograph.hints import TYPE_CHECKING, Any, Self
from kinetograph.trace.json_text import from_json
from kinetograph.trace.words import DeviceType, EventFlag, EventKind, RecordScope

if TYPE_CHECKING:
    from kinetograph.trace.tables import Track
    from kinetograph.trace.trace import Trace

__all__ = ["EventRow"]


class EventRow:
    """The event itself: the columns and the arguments of one row."""

    __slots__ = ("_args", "row", "trace")

    def __init__(self, trace: Trace, row: int) -> None:
        self.trace = trace
        self.row = row
        self._args: dict[str, Any] | None = None

    def _cell(self, column: str) -> int:
        return int(self.trace.columns[column][self.row])

    # What it is

    @property
    def name(self) -> str:
        return self.trace.names[self._cell("name")]

    @property
    def category(self) -> str:
        return self.trace.categories[self._cell("category")]

    @property
    def kind(self) -> EventKind:
        return EventKind(self._cell("kind"))

    @property
    def scope(self) -> RecordScope:
        return RecordScope(self._cell("scope"))

    @property
    def finished(self) -> bool:
        """False for a span that was still open when recording ended; it ends with the window then."""
        return not self._cell("flags") & EventFlag.UNFINISHED

    @property
    def is_async(self) -> bool:
        return bool(self._cell("flags") & EventFlag.ASYNC)

    @property
    def is_resumed(self) -> bool:
        """A later run of a generator or coroutine; the call itself is an earlier span."""
        return bool(self._cell("flags") & EventFlag.RESUMED)

    # When

    @property
    def start_ns(self) -> int:
        return self._cell("start_ns")

    @property
    def duration_ns(self) -> int:
        return self._cell("duration_ns")

    @property
    def end_ns(self) -> int:
        return self.start_ns + self.duration_ns

    @property
    def self_ns(self) -> int:
        """The duration without that of the children; 0 for what is no span."""
        return self._cell("self_ns")

    # Where

    @property
    def track(self) -> Track:
        return self.trace.tracks[self._cell("track")]

    @property
    def process_id(self) -> int | str:
        return self.track.process.pid

    @property
    def thread_id(self) -> int | str:
        """The thread; the stream for work of a device."""
        return self.track.tid

    @property
    def device_type(self) -> DeviceType:
        return self.track.device_type

    @property
    def device_index(self) -> int:
        return self.track.device_index

    # How it hangs together

    @property
    def parent(self) -> Self | None:
        return self._at(self._cell("parent"))

    @property
    def children(self) -> list[Self]:
        """Direct children, by start."""
        parents = self.trace.columns["parent"]
        return [event for event in self.descendants if parents[event.row] == self.row]

    @property
    def descendants(self) -> list[Self]:
        """Children and theirs, by start. They follow their parent, so only rows behind it are looked at."""
        columns, end_ns = self.trace.columns, self.end_ns
        tracks, starts, depths = columns["track"], columns["start_ns"], columns["depth"]
        found = []
        for row in range(self.row + 1, len(self.trace)):
            if tracks[row] != tracks[self.row] or starts[row] >= end_ns:
                break
            if depths[row] > depths[self.row]:
                found.append(self._event(row))
        return found

    @property
    def linked(self) -> Self | None:
        """The host event that caused this one: for a kernel or a launch, the operator around the launch."""
        return self._at(self._cell("link"))

    @property
    def correlation_id(self) -> int:
        """Joins a launch and the work it caused; 0 where there is none."""
        return self._cell("correlation")

    @property
    def sequence_number(self) -> int:
        """Autograd's number of the forward and the backward operator; -1 where there is none."""
        return self._cell("sequence")

    @property
    def has_sequence_number(self) -> bool:
        return self.sequence_number >= 0

    @property
    def record_function_id(self) -> int:
        """The `rf_id` of this call in an execution trace; 0 where none was taken."""
        return self._cell("record_function")

    @property
    def forward_thread_id(self) -> int:
        """PyTorch's number of the thread, not the system's; `flow_id` tells which operator it was."""
        return self._number("Fwd thread id")

    # What else was recorded

    @property
    def args(self) -> dict[str, Any]:
        """Everything that has no column, as it stands in the file."""
        if self._args is None:
            self._args = from_json("{" + self.trace.native.args_of(self.row) + "}")
        return self._args

    @property
    def value(self) -> float | None:
        """Of a counter."""
        value = self.args.get("value")
        return value if isinstance(value, (int, float)) else None

    @property
    def has_shapes(self) -> bool:
        return isinstance(self.args.get("Input Dims"), list)

    @property
    def shapes(self) -> list[Any]:
        return self._list("Input Dims")

    @property
    def has_dtypes(self) -> bool:
        return isinstance(self.args.get("Input type"), list)

    @property
    def dtypes(self) -> list[str]:
        return self._list("Input type")

    @property
    def strides(self) -> list[Any]:
        return self._list("Input Strides")

    @property
    def concrete_inputs(self) -> list[Any]:
        """Numbers, bools and lists of them as values; None for all else, such as a tensor or a text.

        As PyTorch gives them, but for two: -0.0 has lost its sign, and a size that is only known by name
        (in a graph of torch.compile) is that name.
        """
        from kinetograph.trace.event_parts import input_value

        return [input_value(text) for text in self._list("Concrete Inputs")]

    @property
    def has_stack(self) -> bool:
        return bool(self.stack)

    @property
    def stack(self) -> list[str]:
        """The Python frames that led here, innermost first: as traced, else as recorded with the event."""
        frames = []
        caller = self._caller()
        while caller is not None:
            frames.append(caller.name)
            caller = caller._caller()
        return frames or self._recorded_stack()

    def _caller(self) -> Self | None:
        """The Python function around this."""
        event = self.parent
        while event is not None and event.category != "python_function":
            event = event.parent
        return event

    def _recorded_stack(self) -> list[str]:
        stack = self.args.get("Call stack")
        return [frame for frame in stack.split(";") if frame] if isinstance(stack, str) else []

    @property
    def has_module_hierarchy(self) -> bool:
        return bool(self.module_hierarchy)

    @property
    def module_hierarchy(self) -> list[str]:
        """The modules this happened in, outermost first: as TorchScript told, else whose calls are around."""
        hierarchy = self.args.get("Module Hierarchy")
        if hierarchy and isinstance(hierarchy, str):
            return hierarchy.split(".")
        return self._list("Module Hierarchy") or self._modules_around()

    def _modules_around(self) -> list[str]:
        modules = []
        event = self.parent
        while event is not None:
            if "Python module id" in event.args:
                modules.append(event.name.partition(": ")[2])
            event = event.parent
        return modules[::-1]

    @property
    def has_backend(self) -> bool:
        return bool(self.backend)

    @property
    def backend(self) -> str:
        """Empty where there is none."""
        return str(self.args.get("backend") or self.args.get("kernel_backend") or "")

    @property
    def has_flops(self) -> bool:
        return self.flops != 0

    @property
    def flops(self) -> int:
        """0 where none were counted."""
        return self._number("flops")

    # Anybody may use these keys for other things: what has the wrong type was not recorded.

    def _list(self, key: str) -> list[Any]:
        value = self.args.get(key)
        return list(value) if isinstance(value, list) else []

    def _number(self, key: str) -> int:
        value = self.args.get(key)
        # Not math.isfinite: the import of that module is a tenth of a millisecond for every program.
        return int(value) if isinstance(value, (int, float)) and abs(value) < float("inf") else 0

    def _at(self, row: int) -> Self | None:
        return None if row < 0 else self._event(row)

    def _event(self, row: int) -> Self:
        return type(self)(self.trace, row)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EventRow) and self.trace is other.trace and self.row == other.row

    def __hash__(self) -> int:
        return hash((id(self.trace), self.row))

    def __repr__(self) -> str:
        return f"<Event {self.name!r} {self.category} {self.duration_ns} ns>"

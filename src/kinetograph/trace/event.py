"""One event, made on demand from a row of a trace, with PyTorch's names for what it tells."""

from __future__ import annotations

from kinetograph.fork_locks import loading
from kinetograph.hints import TYPE_CHECKING, Any, Self
from kinetograph.trace.event_row import EventRow
from kinetograph.trace.times import TorchTimes
from kinetograph.trace.words import DeviceType, EventKind, key_of

if TYPE_CHECKING:
    from kinetograph.trace.event_parts import Arrow, EventMetadata, Interval, Kernel, Totals
    from kinetograph.trace.trace import Trace

__all__ = ["Event", "KinetoEvent"]

_ANNOTATIONS = ("user_annotation", "gpu_user_annotation")
_WITH_KEYWORDS = ("cpu_op", "user_annotation")
# PyTorch's numbers
_FLOW_TO_BACKWARD, _FLOW_TO_DEVICE = 1, 2
_HOST_MEMORY = (DeviceType.CPU, DeviceType.MKLDNN, DeviceType.IDEEP)


class Event(EventRow, TorchTimes):
    """A view of one row: cheap to make, equal when trace and row are the same.

    >>> event = trace.events[0]
    >>> event.name, event.duration_ns
    ('load', 48200000)

    Optional things are empty (or 0, -1) where they were not recorded; `has_shapes` and the like say so. It is
    PyTorch's `KinetoEvent` and `FunctionEvent` in one: both names of a thing work.
    """

    __slots__ = ()

    # Which it is

    @property
    def id(self) -> int:
        """Unique in the trace, from 1 on; device work has that of its operator as `linked_correlation_id`."""
        return self.row + 1

    @property
    def key(self) -> str:
        return key_of(self.name)

    @property
    def trace_name(self) -> str:
        return self.name

    @property
    def overload_name(self) -> str:
        return str(self.args.get("Overload name") or "")

    @property
    def activity_type(self) -> str:
        return self.category

    @property
    def is_user_annotation(self) -> bool:
        return self.category in _ANNOTATIONS

    @property
    def is_python_function(self) -> bool:
        return self.category == "python_function"

    @property
    def is_hidden_event(self) -> bool:
        """PyTorch hides some from its lists; a trace has none of those."""
        return False

    @property
    def count(self) -> int:
        """1 for a call; 0 for a later run of a generator, whose call is an earlier event."""
        return 0 if self.is_resumed else 1

    @property
    def is_remote(self) -> bool:
        return False

    @property
    def is_legacy(self) -> bool:
        return False

    @property
    def node_id(self) -> int:
        return -1

    # When and where

    @property
    def time_range(self) -> Interval:
        from kinetograph.trace.event_parts import Interval  # as below: not for every `import kinetograph`

        start_ns = self.start_ns - self.trace.start_ns
        return Interval(start_ns / 1e3, (start_ns + self.duration_ns) / 1e3)

    @property
    def thread(self) -> int | str:
        return self.thread_id

    @property
    def start_thread_id(self) -> int | str:
        return self.thread_id

    @property
    def end_thread_id(self) -> int | str:
        return self.thread_id

    @property
    def fwd_thread(self) -> int:
        return self.forward_thread_id

    @property
    def fwd_thread_id(self) -> int:
        return self.forward_thread_id

    @property
    def device_resource_id(self) -> int | str:
        return self.thread_id

    @property
    def use_device(self) -> str | None:
        """The kind of device that did work in this trace."""
        types = {track.device_type for track in self.trace.tracks} - {DeviceType.CPU}
        return min(types).name.lower() if types else None

    # How long; the names in microseconds come from TorchTimes

    @property
    def _is_on_host(self) -> bool:
        return self.device_type is DeviceType.CPU

    @property
    def cpu_time_total_ns(self) -> int:
        return self.duration_ns if self._is_on_host else 0

    @property
    def self_cpu_time_total_ns(self) -> int:
        return self.self_ns if self._is_on_host else 0

    @property
    def device_time_total_ns(self) -> int:
        return self._cell("device_ns")

    @property
    def self_device_time_total_ns(self) -> int:
        return self._cell("self_device_ns")

    @property
    def totals(self) -> Totals:
        """Of all events of the trace."""
        return self.trace._once(_totals)

    @property
    def cuda_elapsed_us(self) -> int:
        """-1: what CUDA events measured is an event of its own, and counts in `device_time_total`."""
        return -1

    @property
    def privateuse1_elapsed_us(self) -> int:
        return -1

    # How it hangs together

    @property
    def cpu_parent(self) -> Self | None:
        return self.parent if self._is_on_host else None

    @property
    def cpu_children(self) -> list[Self]:
        return [child for child in self.children if child.kind is EventKind.SPAN] if self._is_on_host else []

    @property
    def launched(self) -> list[Self]:
        """The work on devices that counts for this event itself."""
        with loading:
            from kinetograph.trace.launched_work import work_by_launcher

        return [self._event(row) for row in self.trace._once(work_by_launcher).of(self.row)]

    @property
    def kernels(self) -> list[Kernel]:
        """As `launched`, with what Python functions in this operator or scope launched."""
        from kinetograph.trace.event_parts import Kernel

        with loading:
            from kinetograph.trace.launched_work import work_by_operator

        works = map(self._event, self.trace._once(work_by_operator).of(self.row))
        return [Kernel(work.name, work.device_index, work.duration_ns / 1e3) for work in works]

    @property
    def sequence_nr(self) -> int:
        return self.sequence_number

    @property
    def linked_correlation_id(self) -> int:
        """The id of the operator that caused this; 0 where there is none."""
        return self.linked.id if self.linked else 0

    @property
    def external_id(self) -> int:
        """The id of the operator this belongs to; its own for an operator."""
        return self.linked_correlation_id or self.id

    @property
    def flow_id(self) -> int:
        """The same for both ends of an arrow of that type: launch and work, forward and backward operator."""
        return self.correlation_id or (self._arrow.id if self._arrow else 0)

    @property
    def flow_type(self) -> int:
        """1 from a forward operator to the backward one, 2 from a launch to its work, 0 for no arrow."""
        if self.correlation_id:
            return _FLOW_TO_DEVICE
        return _FLOW_TO_BACKWARD if self._arrow else 0

    @property
    def flow_start(self) -> bool:
        if self.correlation_id:
            return self._is_on_host
        return self._arrow is not None and self._arrow.is_start

    @property
    def _arrow(self) -> Arrow | None:
        """Between operators; all of the trace are found when the first is asked for."""
        if not self.has_sequence_number:
            return None
        return self.trace._once(_arrows).get(self.row)

    @property
    def python_id(self) -> int:
        return self.id if self.is_python_function else -1

    @property
    def python_parent_id(self) -> int:
        """The id of the Python function around this one."""
        caller = self._caller() if self.is_python_function else None
        return caller.id if caller else -1

    @property
    def python_module_id(self) -> int:
        number = self.args.get("Python module id")
        return number if isinstance(number, int) else -1

    # What it worked on

    @property
    def input_shapes(self) -> list[Any]:
        """Sizes of each input; a list of tensors is one input, and empty here."""
        return [[] if _is_list_of_lists(shape) else shape for shape in self.shapes]

    @property
    def structured_input_shapes(self) -> list[Any]:
        return self.shapes

    @property
    def structured_input_strides(self) -> list[Any]:
        return self.strides

    @property
    def input_dtypes(self) -> list[str]:
        return self.dtypes

    @property
    def kwinputs(self) -> dict[str, Any]:
        """What an operator or a scope was given by name."""
        from kinetograph.trace.event_parts import keyword_inputs

        return keyword_inputs(self.args) if self.category in _WITH_KEYWORDS else {}

    @property
    def metadata_json(self) -> str:
        """The arguments as they stand in the file."""
        return "{" + self.trace.native.args_of(self.row) + "}"

    @property
    def event_metadata(self) -> EventMetadata | None:
        from kinetograph.trace.event_parts import event_metadata

        return event_metadata(self.args)

    @property
    def extra_meta(self) -> dict[str, str]:
        """The same as texts, under the names they have in the file."""
        from kinetograph.trace.event_parts import kineto_texts

        return kineto_texts(self.args)

    # Memory: allocations that were recorded between begin and end, on the same thread

    @property
    def nbytes(self) -> int:
        """Of an allocation; negative where memory was given back, 0 for all other events."""
        return self._number("Bytes") if self.kind is EventKind.MEMORY else 0

    @property
    def cpu_memory_usage(self) -> int:
        return sum(event.nbytes for event in self._allocations() if _is_host_memory(event))

    @property
    def device_memory_usage(self) -> int:
        return sum(event.nbytes for event in self._allocations() if not _is_host_memory(event))

    @property
    def self_cpu_memory_usage(self) -> int:
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    @property
    def self_device_memory_usage(self) -> int:
        return self.device_memory_usage - sum(child.device_memory_usage for child in self.cpu_children)

    @property
    def self_cuda_memory_usage(self) -> int:
        return self.self_device_memory_usage

    def _allocations(self) -> list[Self]:
        return (
            [event for event in self.descendants if event.kind is EventKind.MEMORY]
            if self._is_on_host
            else []
        )


def _is_list_of_lists(shape: object) -> bool:
    return isinstance(shape, list) and any(isinstance(size, list) for size in shape)


def _is_host_memory(event: Event) -> bool:
    return event._number("Device Type") in _HOST_MEMORY


def _arrows(trace: Trace) -> dict[int, Arrow]:
    from kinetograph.trace.event_parts import Arrow

    forward, backward = trace.native.sequence_arrows()
    starts = {row: Arrow(number, True) for row, number in forward}
    return starts | {row: Arrow(number, False) for row, number in backward}


def _totals(trace: Trace) -> Totals:
    from kinetograph.trace.reports import report

    totals: Totals = report("single_events")(trace, range(len(trace)), include_python=True).totals
    return totals


KinetoEvent = Event

"""Events made on demand from rows."""

from __future__ import annotations

import json

import pytest

from kinetograph.trace import DeviceType, Event, EventFlag, EventKind, KinetoEvent, RecordScope, Trace
from kinetograph.trace.words import RESERVED_ARGUMENTS
from sample_traces import NOW_NS, gpu_trace, trace_of


def only_event(**details: object) -> Event:
    trace = Trace()
    trace.native.append("op", "cpu_op", EventKind.SPAN, 10, 5, 1, 1, **details)  # type: ignore[arg-type]
    return trace.events[0]


def test_an_event_tells_its_row() -> None:
    kernel = gpu_trace().events[2]
    assert (kernel.name, kernel.category, kernel.kind) == ("gemm", "kernel", EventKind.SPAN)
    assert (kernel.start_ns, kernel.end_ns, kernel.duration_ns) == (NOW_NS + 5_000, NOW_NS + 13_000, 8_000)
    assert (kernel.process_id, kernel.thread_id) == (0, 7)
    assert (kernel.device_type, kernel.device_index) == (DeviceType.CUDA, 0)
    assert kernel.correlation_id == 77
    assert kernel.args == {"stream": 7, "device": 0, "grid": [1, 2, 3]}


def test_parents_children_and_links_are_events() -> None:
    operator, launch, kernel = gpu_trace().events
    assert launch.parent == operator
    assert operator.parent is None
    assert operator.children == [launch]
    assert operator.self_ns == 8_000
    assert kernel.linked == operator
    assert operator.linked is None


def test_children_are_the_direct_ones_only() -> None:
    trace = trace_of(("a", 0, 100), ("b", 10, 50), ("c", 20, 30), ("d", 60, 70), ("e", 100, 110))
    assert [child.name for child in trace.events[0].children] == ["b", "d"]


def test_the_sequence_of_events_indexes_slices_and_iterates() -> None:
    events = trace_of(*((str(i), i, i + 1) for i in range(10))).events
    assert len(events) == 10
    assert events[-1].name == "9"
    assert [event.name for event in events[2:8:3]] == ["2", "5"]
    assert [event.row for event in events] == list(range(10))
    with pytest.raises(IndexError):
        events[10]


def test_optional_things_say_when_they_are_missing() -> None:
    event = only_event()
    assert [event.has_shapes, event.has_stack, event.has_module_hierarchy] == [False] * 3
    assert (event.shapes, event.dtypes, event.strides, event.stack) == ([], [], [], [])
    assert (event.flops, event.backend, event.sequence_number, event.forward_thread_id) == (0, "", -1, 0)
    assert event.value is None
    assert event.finished


def test_arguments_have_kinetos_names() -> None:
    event = only_event(
        sequence=4,
        scope=RecordScope.BACKWARD_FUNCTION,
        flags=EventFlag.UNFINISHED,
        args_json='{"Input Dims": [[2, 3]], "Input type": ["float"], "Input Strides": [[3, 1]],'
        '"Call stack": "a.py(1): f;b.py(2): g;", "Module Hierarchy": "net.layer", "Fwd thread id": 1,'
        '"flops": 12, "backend": "xnnpack"}',
    )
    assert (event.shapes, event.dtypes, event.strides) == ([[2, 3]], ["float"], [[3, 1]])
    assert event.stack == ["a.py(1): f", "b.py(2): g"]
    assert event.module_hierarchy == ["net", "layer"]
    assert (event.sequence_number, event.forward_thread_id) == (4, 1)
    assert (event.flops, event.backend) == (12, "xnnpack")
    assert event.scope is RecordScope.BACKWARD_FUNCTION
    assert not event.finished


def test_arguments_that_are_columns_leave_the_text() -> None:
    event = only_event(args_json='{"correlation": 9, "Sequence number": 2, "Ev Idx": 5, "mine": 1}')
    assert (event.correlation_id, event.sequence_number) == (9, 2)
    assert event.args == {"mine": 1}


def test_a_callback_may_enrich_events() -> None:
    trace = trace_of(("a", 0, 5), ("b", 10, 15))
    for event in trace.events:
        trace.native.set_args(event.row, f'{{"row": {event.row}}}')
    assert [event.args for event in trace.events] == [{"row": 0}, {"row": 1}]


def test_events_compare_by_trace_and_row() -> None:
    trace = gpu_trace()
    assert trace.events[0] == trace.events[0]
    assert len({trace.events[0], trace.events[0], trace.events[1]}) == 2
    assert trace.events[0] != gpu_trace().events[0]
    assert KinetoEvent is Event
    assert repr(trace.events[0]) == "<Event 'aten::mm' cpu_op 9000 ns>"


def test_reserved_arguments_never_stay_in_the_args_of_an_event() -> None:
    values = {"finished": False, "Async span": True, "Resumed": True, "Python parent id": None}
    args = {name: values.get(name, 1) for name in RESERVED_ARGUMENTS} | {"mine": 1}
    assert only_event(args_json=json.dumps(args)).args == {"mine": 1}


def test_arguments_of_the_wrong_type_count_as_not_recorded() -> None:
    keys = ["Fwd thread id", "Input Dims", "Input type", "Input Strides", "Concrete Inputs", "Call stack"]
    args = {key: {"my": "own"} for key in [*keys, "Module Hierarchy", "flops", "value"]}
    event = only_event(args_json=json.dumps(args))
    assert (event.flops, event.forward_thread_id, event.value) == (0, 0, None)
    assert event.shapes == event.dtypes == event.strides == event.concrete_inputs == []
    assert event.stack == event.module_hierarchy == []
    assert [event.has_shapes, event.has_stack, event.has_module_hierarchy] == [False] * 3

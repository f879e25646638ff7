"""Events made on demand from rows."""

from __future__ import annotations

import json
from typing import Any

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


def test_events_have_pytorchs_names_too() -> None:
    operator, launch, kernel = gpu_trace().events
    assert (operator.id, operator.key, operator.trace_name, operator.count) == (1, "aten::mm", "aten::mm", 1)
    assert operator.time_range == (1.0, 10.0)
    assert operator.time_range.elapsed_us() == operator.cpu_time_total == 9.0
    assert (operator.self_cpu_time_total, operator.cpu_time_str) == (8.0, "9.000us")
    assert (operator.thread, operator.use_device, operator.sequence_nr) == (1, "cuda", 3)
    assert (launch.cpu_parent, operator.cpu_children) == (operator, [launch])
    assert (kernel.cpu_time_total, kernel.device_time_total, kernel.cpu_parent) == (0, 8.0, None)
    assert (kernel.activity_type, kernel.device_resource_id) == ("kernel", 7)
    assert (kernel.linked_correlation_id, kernel.external_id) == (operator.id, operator.id)
    assert (kernel.flow_id, kernel.flow_type, kernel.flow_start, launch.flow_start) == (77, 2, False, True)
    assert (operator.is_user_annotation, operator.is_python_function, operator.is_remote) == (False,) * 3
    assert (operator.start_thread_id, operator.end_thread_id, operator.fwd_thread_id) == (1, 1, 0)
    assert (operator.cuda_elapsed_us, operator.privateuse1_elapsed_us, operator.nbytes) == (-1, -1, 0)
    assert not operator.is_hidden_event


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("7", 7),
        ("-3", -3),
        ("2.", 2.0),
        ("-1.5e-08", -1.5e-08),
        ("inf", float("inf")),
        ("True", True),
        ("False", False),
        ("1.+2.j", 1 + 2j),
        ("[]", []),
        ("[2, -1]", [2, -1]),
        ("[1.5, 2.]", [1.5, 2.0]),
        ("[True, False]", [True, False]),
        ("s0", "s0"),
        ("[s0, 3]", ["s0", 3]),
        (4, 4),
    ],
)
def test_concrete_inputs_are_values(text: object, value: object) -> None:
    event = only_event(args_json=json.dumps({"Concrete Inputs": [text, ""]}))
    assert [(type(told), told) for told in event.concrete_inputs] == [
        (type(value), value),
        (type(None), None),
    ]


def test_an_input_that_is_no_number_is_not_one() -> None:
    (value,) = only_event(args_json='{"Concrete Inputs": ["nan"]}').concrete_inputs
    assert value != value


#   thread 1 [outer     ]                       [engine          ]
#              [inner ]                           [Backward0   ]
#   thread 2               [alone]
def test_an_arrow_leads_from_the_forward_operator_to_the_backward_one() -> None:
    trace = Trace()
    for name, start_ns, duration_ns, sequence in [("outer", 0, 20, 4), ("inner", 5, 10, 4)]:
        trace.native.append(name, "cpu_op", EventKind.SPAN, start_ns, duration_ns, 1, 1, sequence=sequence)
    trace.native.append("alone", "cpu_op", EventKind.SPAN, 30, 5, 1, 2, sequence=9)
    told = {"sequence": 4, "args_json": '{"Fwd thread id": 1}'}
    for name, start_ns, scope in [
        ("autograd::engine::evaluate_function: Backward0", 50, 0),
        ("Backward0", 55, 1),
    ]:
        trace.native.append(name, "cpu_op", EventKind.SPAN, start_ns, 20, 1, 1, scope=scope, **told)  # type: ignore[arg-type]
    trace.native.append("mark", "user_annotation", EventKind.INSTANT, 1, 0, 1, 1)
    trace.native.sort()
    flows = {event.name: (event.flow_id, event.flow_type, event.flow_start) for event in trace.events}
    arrow = flows["inner"][0]
    assert arrow != 0
    assert flows.pop("inner") == (arrow, 1, True)
    assert flows.pop("Backward0") == (arrow, 1, False)
    assert set(flows.values()) == {(0, 0, False)}


def test_arrows_are_found_again_when_there_are_more_events() -> None:
    trace = Trace()
    trace.native.append("forward", "cpu_op", EventKind.SPAN, 0, 5, 1, 1, sequence=4)
    assert trace.events[0].flow_type == 0
    trace.native.append("Backward0", "cpu_op", EventKind.SPAN, 10, 5, 1, 1, sequence=4, scope=1)
    trace.native.sort()
    assert [event.flow_type for event in trace.events] == [1, 1]


def test_arrows_count_rows_as_the_trace_does_whatever_their_names_are() -> None:
    trace = Trace()
    odd = '\n{"ph":"X"'
    trace.native.append(odd, "cpu_op", EventKind.SPAN, 0, 5, odd, odd, args_json=json.dumps({odd: odd}))
    trace.native.append("forward", "cpu_op", EventKind.SPAN, 10, 5, odd, odd, sequence=4)
    trace.native.append("count", "counter", EventKind.COUNTER, 11, 0, odd, odd, args_json='{"value": 1}')
    trace.native.append("Backward0", "cpu_op", EventKind.SPAN, 20, 5, odd, odd, sequence=4, scope=1)
    trace.native.sort()
    assert {event.name for event in trace.events if event.flow_type} == {"forward", "Backward0"}


def test_shares_are_those_of_the_whole_trace() -> None:
    operator, launch, kernel = gpu_trace().events
    assert (operator.self_cpu_percent, operator.total_cpu_percent) == ("88.89%", "100.00%")
    assert (launch.self_cpu_percent, launch.total_device_percent) == ("11.11%", "0.00%")
    assert kernel.total_device_percent == "100.00%"
    assert only_event(flags=EventFlag.ASYNC).total_cpu_percent == "0"
    assert only_event().total_device_percent == "NaN"


def test_what_was_given_by_name_is_told_apart_from_what_torch_tells() -> None:
    args = {
        "Input Dims": [[2]],
        "Concrete Inputs": ["3"],
        "Group size": 2,
        "flops": 4,
        "grid": [1],
        "mine": "x",
    }
    assert only_event(args_json=json.dumps(args)).kwinputs == {"grid": [1], "mine": "x"}
    assert gpu_trace().events[2].kwinputs == {}


def test_an_event_tells_what_it_launched() -> None:
    operator, launch, kernel = gpu_trace().events
    assert operator.kernels == [("gemm", 0, 8.0)]
    assert operator.launched == [kernel]
    assert launch.kernels == []
    assert (operator.device_time_total, operator.self_device_time_total) == (8.0, 8.0)


def test_what_was_launched_is_looked_for_once_for_all_events(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = gpu_trace()
    looks: list[str] = []
    look = type(trace.columns).__getitem__

    def counting(columns: Any, name: str) -> Any:
        looks.append(name)
        return look(columns, name)

    monkeypatch.setattr(type(trace.columns), "__getitem__", counting)
    for _ in range(10):
        assert [len(event.launched) for event in trace.events] == [1, 0, 0]
        assert [len(event.kernels) for event in trace.events] == [1, 0, 0]
    assert looks.count("launcher") == 2  # one for each
    trace.native.append("f", "python_function", EventKind.SPAN, NOW_NS + 1_000, 3_000, 1, 1)
    trace.native.sort()
    assert [len(event.launched) for event in trace.events] == [0, 1, 0, 0]
    assert [len(event.kernels) for event in trace.events] == [1, 1, 0, 0]


def test_work_counts_for_the_python_function_that_launched_it_and_those_around() -> None:
    trace = gpu_trace()
    trace.native.append("f", "python_function", EventKind.SPAN, NOW_NS + 1_000, 3_000, 1, 1)
    trace.native.sort()
    operator, function, _, kernel = trace.events
    assert function.launched == [kernel]
    assert (function.device_time_total_ns, function.self_device_time_total_ns) == (8_000, 8_000)
    assert (operator.device_time_total_ns, operator.self_device_time_total_ns) == (8_000, 0)
    assert operator.kernels == function.kernels == [("gemm", 0, 8.0)]
    assert trace.key_averages()[0].self_device_time_total_ns == 8_000
    assert [row.self_device_time_total_ns for row in trace.key_averages(include_python=True)] == [
        0,
        8_000,
        0,
        8_000,
    ]


def test_what_was_recorded_about_a_kernel_has_pytorchs_names() -> None:
    args = {
        "registers per thread": 32,
        "est. achieved occupancy %": 50,
        "stream": 7,
        "Collective name": "all",
    }
    metadata = only_event(args_json=json.dumps(args)).event_metadata
    assert metadata is not None
    assert (metadata.registers_per_thread, metadata.est_occupancy_pct, metadata.stream) == (32, 50, 7)
    assert (metadata.collective_name, metadata.grid) == ("all", None)
    assert only_event().event_metadata is None
    assert only_event(args_json=json.dumps(args | {"mine": 1, "grid": [1, 2]})).extra_meta == {
        "registers per thread": "32",
        "est. achieved occupancy %": "50",
        "stream": "7",
        "Collective name": "all",
        "grid": "[1, 2]",
    }


def test_a_list_of_tensors_is_one_input() -> None:
    event = only_event(args_json='{"Input Dims": [[[20, 20], [20, 20]], [], [3]]}')
    assert event.input_shapes == [[], [], [3]]
    assert event.structured_input_shapes == [[[20, 20], [20, 20]], [], [3]]


#   [a.py(1): f                    ]
#      [scope             ]
#         [b.py(2): g  ]
#            [op ]
def test_the_stack_is_the_functions_around_or_what_was_recorded_with_the_event() -> None:
    trace = trace_of(("a.py(1): f", 0, 100), ("b.py(2): g", 20, 60), category="python_function")
    trace.native.append("scope", "user_annotation", EventKind.SPAN, 10, 70, 1, 1)
    args = '{"Call stack": "other.py(9): h;"}'
    trace.native.append("op", "cpu_op", EventKind.SPAN, 30, 10, 1, 1, args_json=args)
    trace.native.sort()
    stacks = {event.name: event.stack for event in trace.events}
    assert stacks["op"] == ["b.py(2): g", "a.py(1): f"]
    assert stacks["scope"] == ["a.py(1): f"]
    assert stacks["a.py(1): f"] == []
    inner = next(event for event in trace.events if event.name == "b.py(2): g")
    assert (inner.python_id, inner.python_parent_id) == (inner.id, 1)


def test_memory_of_an_event_is_what_was_allocated_inside() -> None:
    trace = trace_of(("outer", 0, 100), ("inner", 10, 50))
    for time_ns, size, device in [(20, 64, 0), (70, 8, 0), (30, 512, 1), (200, 4, 0)]:
        args = json.dumps({"Bytes": size, "Device Type": device})
        trace.native.append(
            "[memory]", "cpu_instant_event", EventKind.MEMORY, time_ns, 0, 1, 1, args_json=args
        )
    trace.native.sort()
    outer = trace.events[0]
    assert (outer.cpu_memory_usage, outer.self_cpu_memory_usage) == (72, 8)
    assert (outer.device_memory_usage, outer.self_device_memory_usage) == (512, 0)
    assert [event.nbytes for event in trace.events] == [0, 0, 64, 512, 8, 4]


def test_a_later_run_of_a_generator_is_no_call() -> None:
    assert only_event(flags=EventFlag.RESUMED).count == 0


def test_columns_tell_which_event_launched_which_work() -> None:
    columns = gpu_trace().columns
    assert columns["launcher"].tolist() == [-1, -1, 0]
    assert columns["device_ns"].tolist() == [8_000, 0, 8_000]
    assert columns["self_device_ns"].tolist() == [8_000, 0, 8_000]
    assert trace_of(("a", 0, 5)).columns["device_ns"].tolist() == [0]


def test_what_is_optional_says_whether_it_is_there() -> None:
    bare = only_event()
    assert not any((bare.has_flops, bare.has_dtypes, bare.has_backend, bare.has_sequence_number))
    full = only_event(args_json='"flops":8,"Input type":["float"],"kernel_backend":"triton"', sequence=3)
    assert all((full.has_flops, full.has_dtypes, full.has_backend, full.has_sequence_number))

"""Counts and times by name; tests/native/trace_averages_test.cpp has the counting itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import kinetograph as kg
from kinetograph.analysis.averages import SORT_KEYS
from kinetograph.analysis.call_tree import call_tree
from kinetograph.trace import DeviceType, EventFlag, EventKind, Trace, load
from sample_traces import NOW_NS, gpu_trace, trace_of, traces


#   0    10   20   30   40   50
#   [a                  ]
#        [b   ]   [b  ]    [a ]
def two_names() -> Trace:
    return trace_of(("a", 0, 40), ("b", 10, 20), ("b", 25, 38), ("a", 45, 50))


#   [main.py(1): main                ]
#      [scope         ]  [app.py(7): f]
#        [app.py(7): f]
def python_trace() -> Trace:
    trace = trace_of(("scope", 5_000, 20_000))
    for name, start_ns, end_ns in [
        ("main.py(1): main", 0, 40_000),
        ("app.py(7): f", 8_000, 18_000),
        ("app.py(7): f", 25_000, 35_000),
    ]:
        trace.native.append(name, "python_function", EventKind.SPAN, start_ns, end_ns - start_ns, 1, 1)
    trace.native.sort()
    return trace


def test_rows_have_pytorchs_names_for_their_times() -> None:
    a, b = two_names().key_averages()
    assert (a.key, a.count, a.cpu_time_total_ns, a.self_cpu_time_total_ns) == ("a", 2, 45, 22)
    assert (a.cpu_time_total, a.self_cpu_time_total, a.cpu_time) == (0.045, 0.022, 0.0225)
    assert (a.min_ns, a.max_ns) == (5, 40)
    assert (b.key, b.count, b.self_cpu_time_total_str) == ("b", 2, "0.023us")
    assert (a.device_time_total, a.use_device, a.is_async, a.flops, a.cpu_memory_usage) == (
        0,
        None,
        False,
        0,
        0,
    )
    assert (a.input_shapes, a.stack, a.overload_name, a.node_id) == ("", (), "", -1)


def test_averages_are_a_sequence() -> None:
    averages = two_names().key_averages()
    assert len(averages) == 2
    assert averages[-1].key == "b"
    assert [row.key for row in averages[:1]] == ["a"]
    assert [row.key for row in sorted(averages, key=lambda row: row.self_cpu_time_total)] == ["a", "b"]
    with pytest.raises(IndexError):
        averages[2]


def test_every_sort_key_sorts() -> None:
    trace = trace_of(("a", 0, 40), ("b", 50, 60), ("b", 70, 75), ("c", 80, 90))
    order = {key: [row.key for row in trace.key_averages().sort(key)] for key in SORT_KEYS}
    assert order["cpu_time_total"] == ["a", "b", "c"]
    assert order["count"] == ["b", "a", "c"]
    assert order["cpu_time"] == ["a", "c", "b"]
    assert order["key"] == ["a", "b", "c"]
    assert order["self_device_time_total"] == ["a", "b", "c"]


def test_device_spellings_of_sort_keys_mean_the_device() -> None:
    for name in ("self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"):
        assert gpu_trace().key_averages().sort(name)[0].device_time_total_ns == 8_000


def test_an_unknown_sort_key_is_an_error_that_names_the_others() -> None:
    with pytest.raises(
        kg.KinetographError, match="got 'speed'\nhint: the columns are cpu_time, cpu_time_total"
    ):
        two_names().key_averages().table(sort_by="speed")


def test_work_of_devices_counts_for_the_operator_and_for_itself() -> None:
    rows = {row.key: row for row in gpu_trace().key_averages()}
    assert (rows["aten::mm"].device_time_total, rows["aten::mm"].self_device_time_total) == (8.0, 8.0)
    assert rows["cudaLaunchKernel"].device_time_total == 0
    assert (rows["gemm"].cpu_time_total, rows["gemm"].self_device_time_total) == (0, 8.0)
    assert rows["gemm"].device_type is DeviceType.CUDA
    assert rows["gemm"].use_device == "cuda"
    assert gpu_trace().key_averages().self_device_time_total_ns == 8_000


def test_the_sum_of_a_table_counts_every_call() -> None:
    total = two_names().key_averages().total_average()
    assert (total.key, total.count, total.cpu_time_total_ns) == ("Total", 4, 68)
    assert (total.self_cpu_time_total_ns, total.min_ns, total.max_ns) == (45, 5, 40)
    assert Trace().key_averages().total_average().count == 0


def test_rows_become_dicts_that_json_can_write() -> None:
    rows = json.loads(json.dumps(gpu_trace().key_averages().to_rows()))
    assert [row["key"] for row in rows] == ["aten::mm", "cudaLaunchKernel", "gemm"]
    assert (rows[0]["count"], rows[0]["cpu_time_total_ns"], rows[2]["device"]) == (1, 9_000, "CUDA")


def test_python_functions_are_left_out_and_told_about() -> None:
    averages = python_trace().key_averages()
    assert [row.key for row in averages] == ["scope"]
    assert averages[0].self_cpu_time_total_ns == 15_000
    assert averages.left_out == (2, 3, 25_000)
    assert averages.table().splitlines()[-1] == (
        "Not shown: 2 Python functions in 3 calls, 25.000us outside of these events; "
        "key_averages(include_python=True) shows them"
    )


def test_python_functions_have_rows_when_asked_for() -> None:
    averages = python_trace().key_averages(include_python=True)
    rows = {row.key: row for row in averages}
    assert rows["app.py(7): f"].count == 2
    assert rows["scope"].self_cpu_time_total_ns == 5_000
    assert rows["main.py(1): main"].is_python_function
    assert "Not shown" not in averages.table()


def test_a_trace_of_python_functions_alone_says_how_to_see_them() -> None:
    trace = trace_of(("a.py(1): f", 0, 10), category="python_function")
    assert "1 Python function in 1 call" in trace.key_averages().table()


def test_rows_can_be_told_apart_by_the_frames_that_called_them() -> None:
    by_stack = python_trace().key_averages(group_by_stack_n=1, include_python=True)
    assert {(row.key, row.stack): row.count for row in by_stack} == {
        ("main.py(1): main", ()): 1,
        ("scope", ("main.py(1): main",)): 1,
        ("app.py(7): f", ("main.py(1): main",)): 2,
    }


def test_rows_can_be_told_apart_by_shapes_and_overloads() -> None:
    trace = Trace()
    for number, (shape, overload) in enumerate([([2], "Tensor"), ([2], "out"), ([3], "out")]):
        args = json.dumps({"Input Dims": [shape], "Overload name": overload})
        trace.native.append("aten::add", "cpu_op", EventKind.SPAN, number * 10, 5, 1, 1, args_json=args)
    by_shape = trace.key_averages(group_by_input_shape=True)
    assert [(row.input_shapes, row.count) for row in by_shape] == [([[2]], 2), ([[3]], 1)]
    by_overload = trace.key_averages(group_by_overload_name=True)
    assert [(row.overload_name, row.count) for row in by_overload] == [("Tensor", 1), ("out", 2)]


def test_lists_of_tensors_do_not_tell_rows_apart_for_they_are_shown_without_sizes() -> None:
    trace = Trace()
    shapes = ([[[2, 3], [4, 3]], []], [[[2, 3], [2, 3]], []], [[[2, 3]], [7]])
    for number, shape in enumerate(shapes):
        args = json.dumps({"Input Dims": shape})
        trace.native.append("aten::cat", "cpu_op", EventKind.SPAN, number * 10, 5, 1, 1, args_json=args)
    rows = trace.key_averages(group_by_input_shape=True)
    assert [(row.input_shapes, row.count) for row in rows] == [([[], []], 2), ([[], [7]], 1)]


def test_steps_are_one_row() -> None:
    (row,) = trace_of(("ProfilerStep#1", 0, 5), ("ProfilerStep#2", 5, 9)).key_averages()
    assert (row.key, row.count) == ("ProfilerStep*", 2)


def test_a_name_that_only_went_on_running_has_no_calls_and_no_average() -> None:
    trace = Trace()
    trace.native.append("g", "user_annotation", EventKind.SPAN, 0, 5, 1, 1, flags=EventFlag.RESUMED)
    (row,) = trace.key_averages()
    assert (row.count, row.cpu_time, row.cpu_time_total_ns) == (0, 0.0, 5)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("group_by_stack_n", -1),
        ("group_by_stack_n", "2"),
        ("include_python", 1),
        ("group_by_input_shape", "x"),
    ],
)
def test_wrong_options_are_errors(option: str, value: object) -> None:
    with pytest.raises(kg.KinetographError, match=option):
        two_names().key_averages(**{option: value})


def test_the_events_of_a_trace_answer_as_pytorchs_event_list() -> None:
    events = gpu_trace().events
    assert [row.key for row in events.key_averages()] == ["aten::mm", "cudaLaunchKernel", "gemm"]
    assert events.self_cpu_time_total == 9.0
    assert events.total_average().count == 3
    assert "gemm" in events.table(sort_by="self_cuda_time_total")
    assert "aten::mm" in events[:1].table()
    assert "gemm" not in events[:1].table()
    assert (str(events), str(events[:1])) == (events.table(), events[:1].table())
    assert repr(events[:1]) == "<1 event>"


def test_averages_write_the_files_that_pytorchs_event_list_writes(tmp_path: Path) -> None:
    averages = gpu_trace().key_averages()
    averages.export_chrome_trace(str(tmp_path / "trace"))
    assert load(tmp_path / "trace").names == load_saved(tmp_path).names
    for metric in averages.supported_export_stacks_metrics():
        averages.export_stacks(str(tmp_path / "stacks"), metric)
        assert (tmp_path / "stacks").exists()
    with pytest.raises(ValueError, match="metric"):
        averages.export_stacks(str(tmp_path / "stacks"), "nothing")


def load_saved(folder: Path) -> Trace:
    gpu_trace().save(folder / "saved.json")
    return load(folder / "saved.json")


def test_only_the_events_of_a_whole_trace_have_averages() -> None:
    with pytest.raises(kg.KinetographError, match="expected the events of a whole trace, got 2 of 3"):
        gpu_trace().events[:2].key_averages()


def test_what_changes_in_a_trace_changes_its_averages() -> None:
    trace = gpu_trace()
    assert len(trace.key_averages()) == 3
    trace.native.append("late", "kernel", EventKind.SPAN, NOW_NS + 14_000, 2_000, 0, 7)
    trace.native.sort()
    trace.native.set_link(3, 0)
    assert trace.key_averages()[0].device_time_total_ns == 10_000


def test_a_result_and_its_trace_have_the_same_averages() -> None:
    kg.enable_profiler()
    with kg.scope("work"):
        pass
    result = kg.disable_profiler()
    assert result.key_averages().to_rows() == result.trace.key_averages().to_rows()
    assert result.key_averages()[0].key == "work"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trace=traces())
def test_whatever_was_recorded_times_add_up(trace: Trace) -> None:
    rows = list(trace.key_averages(include_python=True))
    for row in rows:
        assert 0 <= row.self_cpu_time_total_ns <= row.cpu_time_total_ns
        assert 0 <= row.min_ns <= row.max_ns
        assert 0 <= row.self_device_time_total_ns <= row.device_time_total_ns
    spans = [event for event in trace.events if event.kind is EventKind.SPAN]
    assert sum(row.count for row in rows) <= sum(event.count for event in spans)
    nodes = call_tree(trace).walk()
    assert sum(getattr(node, "self_ns", 0) for node in nodes) == sum(
        row.self_cpu_time_total_ns for row in rows
    )


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trace=traces())
def test_leaving_python_out_loses_no_time(trace: Trace) -> None:
    without = trace.key_averages()
    everything = trace.key_averages(include_python=True).self_cpu_time_total_ns
    assert without.self_cpu_time_total_ns + without.left_out.time_ns == everything

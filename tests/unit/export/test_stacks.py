"""Folded stacks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import kinetograph as kg
from kinetograph.analysis.call_tree import call_tree
from kinetograph.export.stacks import STACK_METRICS, export_stacks
from kinetograph.trace import EventKind, Trace
from sample_traces import gpu_trace, trace_of, traces

# What flamegraph.pl's collapsed format allows: frames without separators, a blank, a positive number.
LINE = re.compile(r"[^;\n]+(;[^;\n]+)* [1-9][0-9]*")


def folded(trace: Trace, folder: Path, metric: str = "self_cpu_time_total") -> list[str]:
    path = folder / "stacks.folded"
    export_stacks(trace, path, metric)
    return path.read_text(encoding="utf-8", errors="strict").splitlines()


def test_a_line_for_each_path_that_ends_in_the_events_own_name(tmp_path: Path) -> None:
    trace = trace_of(("scope", 0, 9_000), ("inner", 2_000, 5_000))
    trace.native.append("app.py(3): main", "python_function", EventKind.SPAN, 0, 20_000, 1, 1)
    trace.native.sort()
    assert folded(trace, tmp_path) == [
        "app.py(3): main 11",
        "app.py(3): main;scope 6",
        "app.py(3): main;scope;inner 3",
    ]


def test_time_of_devices_has_the_kernel_at_the_end(tmp_path: Path) -> None:
    for metric in ("self_device_time_total", "self_cuda_time_total"):
        assert folded(gpu_trace(), tmp_path, metric) == ["aten::mm;gemm 8"]


def test_calls_can_be_counted(tmp_path: Path) -> None:
    trace = trace_of(("a", 0, 10), ("b", 1, 2), ("b", 3, 4))
    assert folded(trace, tmp_path, "count") == ["a 1", "a;b 2"]


def test_the_suffix_is_enough(tmp_path: Path) -> None:
    gpu_trace().save(tmp_path / "x.folded")
    assert (tmp_path / "x.folded").read_text() == "aten::mm 8\naten::mm;cudaLaunchKernel 1\n"


def test_events_export_their_stacks_as_pytorch_does(tmp_path: Path) -> None:
    gpu_trace().events.export_stacks(str(tmp_path / "stacks.txt"), "self_cuda_time_total")
    assert (tmp_path / "stacks.txt").read_text() == "aten::mm;gemm 8\n"
    assert set(gpu_trace().events.supported_export_stacks_metrics()) == set(STACK_METRICS)


def test_an_unknown_metric_is_an_error_and_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(kg.KinetographError, match="got 'speed'\nhint: the metrics are self_cpu_time_total"):
        export_stacks(gpu_trace(), tmp_path / "x.folded", "speed")
    assert list(tmp_path.iterdir()) == []


def test_a_viewer_of_others_reads_it(tmp_path: Path) -> None:
    parser_of = pytest.importorskip(
        "flamegraph_textual.parsers.stackcollapse_parser", reason="flameshow is not installed here"
    ).StackCollapseParser
    trace = trace_of(("a;b\u2028c", 0, 9_000), ("# of calls", 2_000, 5_000), ("a", 10_000, 12_000))
    trace.save(tmp_path / "x.folded")
    text = (tmp_path / "x.folded").read_bytes()
    assert parser_of.validate(text)
    root = parser_of("x.folded").parse(text).root_stack
    assert [(frame.name, frame.values) for frame in root.children] == [("a b c", [9]), ("a", [2])]
    assert [(frame.name, frame.values) for frame in root.children[0].children] == [("_ of calls", [3])]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trace=traces())
def test_whatever_the_names_every_line_is_well_formed(
    tmp_path_factory: pytest.TempPathFactory, trace: Trace
) -> None:
    lines = folded(trace, tmp_path_factory.mktemp("folded"))
    assert all(LINE.fullmatch(line) for line in lines)
    assert len(lines) <= len(call_tree(trace))

"""Calls merged by path."""

from __future__ import annotations

import pytest

import kinetograph as kg
from kinetograph.analysis.call_tree import CallNode, call_tree, duration_text
from kinetograph.trace import EventKind, Trace
from sample_traces import gpu_trace, trace_of


#   [main                             ]
#     [load     ] [step  ] [step     ]
#       [read ]     [mm]
def program() -> Trace:
    return trace_of(
        ("main", 0, 1000),
        ("load", 10, 210),
        ("read", 20, 120),
        ("step", 300, 500),
        ("mm", 310, 330),
        ("step", 600, 900),
    )


def test_children_are_merged_and_the_longest_comes_first() -> None:
    tree = call_tree(program())
    (main,) = tree.roots
    assert (main.name, main.count, main.total_ns, main.self_ns) == ("main", 1, 1000, 300)
    assert [(node.name, node.count, node.total_ns) for node in tree.children(main)] == [
        ("step", 2, 500),
        ("load", 1, 200),
    ]
    assert tree.total_ns == 1000


def test_it_prints_as_an_indented_table() -> None:
    lines = call_tree(program()).grid().plain().splitlines()
    assert [line.split("  ")[-1].strip() for line in lines] == ["Name", "main", "step", "mm", "load", "read"]
    assert lines[1].split() == ["1.000", "us", "100.0", "300", "ns", "1", "main"]
    assert lines[3].index("mm") - lines[1].index("main") == 4


def test_depth_and_share_leave_parts_out_and_say_so() -> None:
    shallow = call_tree(program()).grid(depth=2).plain()
    assert "read" not in shallow
    assert "load" in shallow
    large = call_tree(program()).grid(min_percent=30).plain()
    assert "load" not in large
    assert "more name" not in large


def test_parts_too_small_to_be_told_are_told_together_if_that_is_much() -> None:
    trace = trace_of(("main", 0, 100), *((f"part {i}", i * 4, i * 4 + 4) for i in range(20)))
    lines = call_tree(trace).grid(min_percent=10).plain().splitlines()
    assert len(lines) == 3
    assert lines[-1].strip() == "(20 more names, 80 ns)"


def test_threads_are_merged_and_deep_recursion_is_no_problem() -> None:
    deep = trace_of(*(("f", level, 20_000 - level) for level in range(5_000)))
    tree = call_tree(deep)
    assert len(tree) == 5_000
    lines = tree.grid(min_percent=0).plain().splitlines()
    assert len(lines) == 5_001
    assert lines[-1].endswith("+4983 f")


def test_kernels_hang_below_what_launched_them() -> None:
    tree = call_tree(gpu_trace())
    (operator,) = tree.roots
    assert (operator.name, operator.device_ns, operator.self_device_ns) == ("aten::mm", 8_000, 0)
    assert [node.name for node in tree.children(operator)] == ["cudaLaunchKernel", "gemm"]
    assert "Device" in tree.grid().plain().splitlines()[0]


def test_python_functions_can_be_left_out() -> None:
    trace = trace_of(("scope", 10, 50))
    trace.native.append("a.py(1): f", "python_function", EventKind.SPAN, 0, 100, 1, 1)
    trace.native.sort()
    assert [node.name for node in call_tree(trace).roots] == ["a.py(1): f"]
    assert [node.name for node in call_tree(trace, include_python=False).roots] == ["scope"]


def test_an_empty_trace_has_an_empty_tree() -> None:
    tree = call_tree(Trace())
    assert (len(tree), tree.roots, tree.total_ns) == (0, [], 0)
    assert tree.grid().plain() == "Total  Total %  Self  Calls  Name"


def test_every_call_is_in_the_walk_once() -> None:
    nodes = [node for node in call_tree(program()).walk() if isinstance(node, CallNode)]
    assert sum(node.self_ns for node in nodes) == 1000
    assert sum(node.count for node in nodes) == 6


@pytest.mark.parametrize("options", [{"depth": 0}, {"min_percent": 101}, {"min_percent": "x"}])
def test_wrong_options_are_errors(options: dict[str, object]) -> None:
    with pytest.raises(kg.KinetographError, match=next(iter(options))):
        call_tree(program()).grid(**options)  # type: ignore[arg-type]


def test_durations_have_three_or_four_digits() -> None:
    times = [0, 999, 1_000, 12_340, 123_400, 1_234_000_000]
    assert [duration_text(ns) for ns in times] == [
        "0 ns",
        "999 ns",
        "1.000 us",
        "12.34 us",
        "123.4 us",
        "1.234 s",
    ]

"""The table as PyTorch prints it; tests/unit/test_torch_averages.py holds it against PyTorch itself."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

import kinetograph as kg
from kinetograph.trace import EventKind, Trace
from sample_traces import NOW_NS, gpu_trace, trace_of


def test_columns_are_pytorchs() -> None:
    lines = gpu_trace().key_averages().table().splitlines()
    assert lines[1].split("  ")[-2].strip() == "# of Calls"
    headings = [heading.strip() for heading in lines[1].split("  ") if heading.strip()]
    assert headings == [
        "Name",
        "Self CPU %",
        "Self CPU",
        "CPU total %",
        "CPU total",
        "CPU time avg",
        "Self CUDA",
        "Self CUDA %",
        "CUDA total",
        "CUDA time avg",
        "# of Calls",
    ]
    assert lines[3].split() == [
        "aten::mm",
        "88.89%",
        "8.000us",
        "100.00%",
        "9.000us",
        "9.000us",
        "8.000us",
        "100.00%",
        "8.000us",
        "8.000us",
        "1",
    ]
    assert lines[-2:] == ["Self CPU time total: 9.000us", "Self CUDA time total: 8.000us"]
    assert len({len(line) for line in lines[:-2]}) == 1


def test_without_devices_there_are_no_columns_for_them() -> None:
    text = trace_of(("a", 0, 5_000)).key_averages().table()
    assert "CUDA" not in text
    assert "Mem" not in text
    assert "FLOPs" not in text


def test_the_limit_and_the_order_choose_rows_but_not_the_sums() -> None:
    averages = trace_of(("a", 0, 10_000), ("b", 20_000, 50_000)).key_averages()
    text = averages.table(sort_by="cpu_time_total", row_limit=1)
    assert "75.00%" in text
    assert "  a  " not in text
    assert "Self CPU time total: 40.000us" in text
    assert len(averages.table(row_limit=-1).splitlines()) == 7


def test_times_have_the_unit_that_is_asked_for() -> None:
    averages = trace_of(("a", 0, 1_500_000)).key_averages()
    assert "1.500ms" in averages.table()
    assert "0.002s" in averages.table(time_unit="s")
    assert "1500.000us" in averages.table(time_unit="us")
    with pytest.raises(kg.KinetographError, match="time_unit: expected 's' or 'ms' or 'us', got 'min'"):
        averages.table(time_unit="min")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("header", 3, "a string"),
        ("max_name_column_width", "55", "a whole number"),
        ("max_shapes_column_width", -1, "at least 0"),
        ("max_src_column_width", 7.5, "a whole number"),
        ("top_level_events_only", "no", "True or False"),
    ],
)
def test_options_that_are_wrong_are_named(name: str, value: object, expected: str) -> None:
    averages = trace_of(("a", 0, 5)).key_averages()
    with pytest.raises(kg.KinetographError, match=f"^{name}: expected {expected}"):
        averages.table(**{name: value})  # type: ignore[arg-type]


def test_long_names_are_cut_and_control_characters_stay_out() -> None:
    line = trace_of(("x" * 80 + "\n", 0, 5)).key_averages().table().splitlines()[3]
    assert line.startswith("x" * 52 + "...")
    whole = trace_of(("x" * 80, 0, 5)).key_averages().table(max_name_column_width=None)
    assert "x" * 80 in whole
    assert "\x1b" not in trace_of(("a\x1b[2J", 0, 5)).key_averages().table()


def test_a_header_and_top_level_events_stand_above() -> None:
    averages = trace_of(("outer", 0, 50), ("inner", 10, 20)).key_averages()
    lines = averages.table(header="My run", top_level_events_only=True).splitlines()
    assert lines[0] == "=" * (len(lines[4]) - 2)
    assert lines[1] == "My run"
    assert "outer" in "".join(lines)
    assert "inner" not in "".join(lines)


def test_stacks_stand_below_each_other() -> None:
    trace = Trace()
    trace.native.append(
        "op", "cpu_op", EventKind.SPAN, 0, 5, 1, 1, args_json='{"Call stack": "b.py(2): g;a.py(1): f;"}'
    )
    averages = trace.key_averages(group_by_stack_n=5)
    lines = averages.table(max_src_column_width=0).splitlines()
    assert [line.split()[-1:] for line in (lines[1], *lines[3:6])] == [["Location"], ["1"], [], []]
    lines = averages.table().splitlines()
    assert lines[1].rstrip().endswith("Source Location")
    assert lines[3].rstrip().endswith("b.py(2): g")
    assert lines[4].strip() == "a.py(1): f"
    assert lines[5].strip() == ""


def test_memory_and_flops_have_columns_when_they_were_recorded() -> None:
    trace = Trace()
    trace.native.append("op", "cpu_op", EventKind.SPAN, 0, 50, 1, 1, args_json='{"flops": 2500}')
    memory = '{"Bytes": 2048, "Device Type": 0}'
    trace.native.append("[memory]", "cpu_instant_event", EventKind.MEMORY, 5, 0, 1, 1, args_json=memory)
    text = trace.key_averages().table()
    for word in ("CPU Mem", "Self CPU Mem", "2.00 KB", "Total KFLOPs", "2.500"):
        assert word in text


def test_losses_are_told_below_the_table() -> None:
    trace = trace_of(("a", 0, 5))
    trace.add_note("dropped", "17 events")
    trace.add_note("clock", "fine")
    text = trace.key_averages().table()
    assert "note (dropped): 17 events" in text
    assert "fine" not in text


def test_nothing_recorded_is_no_table() -> None:
    assert Trace().key_averages().table() == ""
    assert str(trace_of(("a", 0, 5)).key_averages()).startswith("-")


def test_why_nothing_was_recorded_is_told_without_a_table() -> None:
    trace = Trace()
    trace.add_note("torch", "operators of torch are not recorded")
    assert trace.key_averages().table() == "note (torch): operators of torch are not recorded\n"


@pytest.mark.parametrize("width", [200, 100, 60, 30])
def test_in_a_terminal_it_fits_the_width(width: int) -> None:
    trace = gpu_trace()
    trace.native.append(
        "a very long name of an annotation", "user_annotation", EventKind.SPAN, NOW_NS, 5, 1, 1
    )
    trace.native.sort()
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(trace.key_averages())
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert all(len(line.rstrip()) <= width for line in lines)
    assert "# of Calls" in lines[0]
    assert "aten::mm" in "".join(lines)

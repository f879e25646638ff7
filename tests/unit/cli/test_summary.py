"""`kinetograph summary`."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from kinetograph.cli import main
from kinetograph.cli.summary import SummaryOptions, print_summary
from kinetograph.trace import EventFlag, EventKind, Trace
from sample_traces import NOW_NS, gpu_trace, trace_of


def run_summary(trace: Trace, folder: Path, *options: str) -> Result:
    path = folder / "trace.json"
    trace.save(path)
    return CliRunner().invoke(main, ["summary", str(path), *options])


def test_host_and_device_have_tables_of_their_own(tmp_path: Path) -> None:
    result = run_summary(gpu_trace(), tmp_path)
    assert result.exit_code == 0
    host, device = result.output.split("\nDevice\n")
    assert "3 spans on 2 tracks in 21.00 us" in host
    assert "aten::mm" in host
    assert "cudaLaunchKernel" in host
    assert device.split()[-1] == "gemm"
    assert "8.000 us" in device


def test_plain_text_is_aligned_with_whole_names_at_the_end(tmp_path: Path) -> None:
    name = "long " * 60 + "name"
    lines = run_summary(trace_of((name, 0, 5), ("b", 10, 12)), tmp_path).output.splitlines()
    first, second = lines[-2:]
    assert first.endswith(name)
    assert first.index("user_annotation") == second.index("user_annotation")


def test_limit_and_sort_choose_the_rows(tmp_path: Path) -> None:
    trace = trace_of(("often", 0, 1), ("often", 2, 3), ("long", 10, 99))
    by_count = run_summary(trace, tmp_path, "--sort-by", "count", "--limit", "1").output
    assert "often" in by_count
    assert "long" not in by_count
    assert "1 more name; --limit shows more" in by_count


def test_categories_choose_the_rows(tmp_path: Path) -> None:
    output = run_summary(gpu_trace(), tmp_path, "--category", "cpu_op", "--category", "kernel").output
    assert "aten::mm" in output
    assert "gemm" in output
    assert "cudaLaunchKernel" not in output


def test_notes_are_shown(tmp_path: Path) -> None:
    trace = gpu_trace()
    trace.add_note("dropped", "17 events")
    assert "note (dropped): 17 events" in run_summary(trace, tmp_path).output


def test_control_characters_in_notes_do_not_reach_the_terminal(tmp_path: Path) -> None:
    trace = gpu_trace()
    trace.add_note("k\x1b", "a\x1b]0;title\x07")
    assert "note (k\ufffd): a\ufffd]0;title\ufffd" in run_summary(trace, tmp_path).output


def test_an_empty_trace_is_no_error(tmp_path: Path) -> None:
    result = run_summary(Trace(), tmp_path)
    assert (result.exit_code, result.output) == (0, "no events on 0 tracks in 0 ns\n")


def test_control_characters_in_names_do_not_reach_the_terminal(tmp_path: Path) -> None:
    output = run_summary(trace_of(("a\x1b[31m\nb", 0, 5)), tmp_path).output
    assert "\x1b" not in output
    assert "a\ufffd[31m\ufffdb" in output


def test_annotations_around_the_work_of_a_device_have_a_table_of_their_own(tmp_path: Path) -> None:
    trace = gpu_trace()
    trace.native.append("step", "gpu_user_annotation", EventKind.SPAN, NOW_NS + 4_000, 11_000, 0, 7)
    trace.native.sort()
    device, annotations = run_summary(trace, tmp_path).output.split("\nDevice annotations\n")
    assert "gemm" in device
    assert "100.0" in device.split("\nDevice\n")[1]
    assert annotations.split()[-1] == "step"


def test_a_category_that_no_span_has_is_an_error_that_names_those_there_are(tmp_path: Path) -> None:
    result = run_summary(gpu_trace(), tmp_path, "--category", "nope")
    assert result.exit_code == 1
    assert "no spans of category nope" in result.output
    assert "there are cpu_op, cuda_runtime, kernel" in result.output


def test_the_headline_counts_in_english_and_tells_what_is_unfinished(tmp_path: Path) -> None:
    trace = Trace()
    trace.native.append("a", "cpu_op", EventKind.SPAN, 0, 5, 1, 1, flags=EventFlag.UNFINISHED)
    for time_ns in (6, 7):
        trace.native.append("[memory]", "cpu_instant_event", EventKind.MEMORY, time_ns, 0, 1, 1)
    output = run_summary(trace, tmp_path).output
    assert output.startswith("1 span, 2 memory events (1 unfinished) on 1 track in")


def python_trace() -> Trace:
    trace = trace_of(("scope", 5_000, 20_000))
    trace.native.append("pkg/app.py(1): main", "python_function", EventKind.SPAN, 0, 40_000, 1, 1)
    trace.native.sort()
    return trace


def test_python_functions_have_a_table_of_their_own(tmp_path: Path) -> None:
    output = run_summary(python_trace(), tmp_path).output
    host, python = output.split("\nPython functions\n")
    assert "scope" in host
    assert "pkg/app.py(1): main" in python
    assert "62.5" in python
    without = run_summary(python_trace(), tmp_path, "--no-python").output
    assert "app.py" not in without
    assert "100.0" in without


def test_rows_can_be_told_apart_by_what_called_them(tmp_path: Path) -> None:
    output = run_summary(python_trace(), tmp_path, "--by", "stack").output
    assert "Called from" in output
    assert output.count("pkg/app.py(1): main") == 2
    trace = Trace()
    for number in (2, 3):
        args = f'{{"Input Dims": [[{number}]]}}'
        trace.native.append("mm", "cpu_op", EventKind.SPAN, number, 1, 1, 1, args_json=args)
    output = run_summary(trace, tmp_path, "--by", "shapes").output
    assert "[[2]]" in output
    assert "[[3]]" in output


def test_a_tree_shows_who_called_what(tmp_path: Path) -> None:
    lines = run_summary(python_trace(), tmp_path, "--tree").output.splitlines()
    assert lines[0].startswith("2 spans on 1 track")
    assert lines[-2].split() == ["40.00", "us", "100.0", "25.00", "us", "1", "pkg/app.py(1):", "main"]
    assert lines[-1].endswith("  scope")
    shallow = run_summary(python_trace(), tmp_path, "--tree", "--depth", "1").output
    assert "scope" not in shallow
    large = run_summary(python_trace(), tmp_path, "--tree", "--min-percent", "50").output
    assert "scope" not in large


def test_it_can_be_printed_elsewhere(tmp_path: Path) -> None:
    target = tmp_path / "summary.txt"
    with target.open("w") as file:
        print_summary(gpu_trace(), SummaryOptions(limit=1, sort_by="total"), file=file)
    assert "aten::mm" in target.read_text()


def test_records_inside_kernels_have_a_table_of_their_own_and_are_no_device_time(tmp_path: Path) -> None:
    trace = gpu_trace()
    trace.native.name_process("inside", "gemm", "GPU 0 stream 7, launch 0", None)
    trace.native.name_track("inside", 3, "SM 3 block 0", 3, device_type=1, device_index=0)
    args = '{"block": 0, "sm": 3, "launch": 0}'
    trace.native.append(
        "load", "intra_kernel", EventKind.SPAN, NOW_NS + 6_000, 5_000, "inside", 3, args_json=args
    )
    trace.native.sort()
    result = run_summary(trace, tmp_path)
    assert result.exit_code == 0, result.output
    device, tasks = result.output.split("\nDevice\n")[1].split("\nInside kernels\n")
    assert "load" not in device
    assert "100.0" in device
    assert tasks.split()[-2:] == ["gemm", "load"]
    assert "5.000 us" in tasks
    only = run_summary(trace, tmp_path, "--category", "intra_kernel").output
    assert "Inside kernels" in only
    assert "Device" not in only

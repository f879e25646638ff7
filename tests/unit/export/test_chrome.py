"""What is written can be read by anyone, and comes back the same."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from kinetograph.errors import KinetographError
from kinetograph.trace import Trace, load
from sample_traces import NOW_NS, contents, gpu_trace, trace_of, traces


def written_bytes(trace: Trace) -> bytes:
    blocks: list[bytes] = []
    trace.native.write_chrome_json(blocks.append, "trace")
    return b"".join(blocks)


def read_bytes(text: bytes) -> Trace:
    from kinetograph import _native

    pieces = iter([text, b""])
    return Trace(_native.Trace.read_chrome_json(lambda: next(pieces)))


def written(trace: Trace) -> Any:
    return json.loads(written_bytes(trace))


@settings(max_examples=300, deadline=None)
@given(traces())
def test_any_trace_comes_back_the_same(trace: Trace) -> None:
    text = written_bytes(trace)
    again = read_bytes(text)
    assert contents(again) == contents(trace)
    assert written_bytes(again) == text


@settings(max_examples=100, deadline=None)
@given(traces())
def test_spans_of_one_row_never_cross(trace: Trace) -> None:
    open_ends: dict[tuple[Any, Any], list[float]] = {}
    spans = [event for event in written(trace)["traceEvents"] if event["ph"] == "X"]
    for event in sorted(spans, key=lambda event: (event["ts"], -event["dur"])):
        start, end = round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)
        ends = open_ends.setdefault((event["pid"], event["tid"]), [])
        while ends and ends[-1] <= start:
            ends.pop()
        assert not ends or end <= ends[-1]
        ends.append(end)


def test_saving_twice_and_to_both_forms_gives_the_same_text(tmp_path: Path) -> None:
    trace = gpu_trace()
    plain, packed = tmp_path / "trace.json", tmp_path / "trace.json.gz"
    trace.save(plain)
    trace.save(packed)
    first = plain.read_bytes()
    trace.save(plain)
    assert plain.read_bytes() == first
    assert gzip.decompress(packed.read_bytes()).replace(b"trace.json.gz", b"trace.json") == first


def test_equal_traces_give_equal_gzip_bytes(tmp_path: Path) -> None:
    files = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        os.chdir(tmp_path / folder)
        gpu_trace().save("trace.json.gz")
        files.append(Path("trace.json.gz").read_bytes())
    assert files[0] == files[1]


def test_gzip_falls_back_to_zlib_without_isal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "isal", None)
    path = tmp_path / "trace.json.gz"
    gpu_trace().save(path)
    assert contents(load(path)) == contents(gpu_trace())


def test_the_name_of_the_file_stands_in_it(tmp_path: Path) -> None:
    path = tmp_path / 'odd "name" \u20ac.json'
    gpu_trace().save(path)
    assert json.loads(path.read_bytes())["traceName"] == str(path)


def test_times_are_microseconds_with_three_decimals() -> None:
    text = written_bytes(trace_of(("a", NOW_NS, NOW_NS + 1_234_567)))
    assert b'"dur":1234.567,' in text
    assert json.loads(text)["baseTimeNanoseconds"] == NOW_NS // 10**9 // 7889238 * 7889238 * 10**9


def test_metadata_and_rank_are_top_level_keys() -> None:
    trace = trace_of(("a", 1, 2))
    trace.metadata["distributedInfo"] = {"backend": "nccl", "rank": 3}
    trace.metadata["my key"] = [1, {"a": None}]
    assert b'"rank": 3' in written_bytes(trace)
    assert written(trace)["my key"] == [1, {"a": None}]


def test_names_of_any_text_are_escaped_correctly() -> None:
    names = ['quote " backslash \\ newline \n nul \0', "\u20ac \U0001f600 \x7f", "\ud800 alone"]
    trace = trace_of(*((name, i, i + 1) for i, name in enumerate(names)))
    events = [event["name"] for event in written(trace)["traceEvents"] if event["ph"] == "X"]
    assert events == [*names[:2], "? alone"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text("old")
    trace = gpu_trace()
    with pytest.raises(ZeroDivisionError):
        trace.native.write_chrome_json(lambda _block: 1 / 0, "x")
    program = (
        "import resource, signal, sys; sys.path.insert(0, sys.argv[1]);"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100));"
        "from sample_traces import gpu_trace; gpu_trace().save(sys.argv[2])"
    )
    command = [sys.executable, "-c", program, str(Path(__file__).parents[2]), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "KinetographError: cannot write" in done.stderr
    assert "File too large" in done.stderr
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_os_error_of_the_descriptor() -> None:
    with open("/dev/full", "wb") as full, pytest.raises(OSError, match="No space left"):
        gpu_trace().native.write_chrome_json(full.fileno(), "x")


def test_a_folder_that_is_not_there_is_our_error(tmp_path: Path) -> None:
    with pytest.raises(KinetographError, match=r"cannot write .*No such file"):
        gpu_trace().save(tmp_path / "no" / "trace.json")


def test_an_unknown_suffix_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(KinetographError, match=r"ends in \.json, \.json\.gz, \.pftrace"):
        gpu_trace().save(tmp_path / "trace.txt")


def test_a_change_while_writing_does_not_reach_the_file() -> None:
    trace = trace_of(*((f"name {i}", i, i + 1) for i in range(20_000)))
    blocks: list[bytes] = []

    def change_and_keep(block: bytes) -> None:
        trace.native.append("late", "user_annotation", 0, 0, 1, 1, 1)
        trace.native.set_args(0, '{"late": 1}')
        blocks.append(block)

    trace.native.write_chrome_json(change_and_keep, "x")
    assert len(blocks) > 1
    assert len(read_bytes(b"".join(blocks))) == 20_000
    assert len(trace) == 20_000 + len(blocks)


def test_a_name_as_long_as_the_system_allows_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250 + ".json")
    gpu_trace().save(path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    link, file = tmp_path / "link.json", tmp_path / "file.json"
    link.symlink_to(file)
    gpu_trace().save(link)
    assert link.is_symlink()
    assert len(load(file)) == len(gpu_trace())


def test_a_pipe_is_refused_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    with pytest.raises(KinetographError, match="neither a file nor free for one"):
        gpu_trace().save(pipe)
    assert pipe.is_fifo()

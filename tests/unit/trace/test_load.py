"""Loading: by content, in pieces, and what is said of files that are no traces."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kinetograph.errors import KinetographError, TraceFormatError
from kinetograph.trace import DeviceType, EventKind, Trace, load
from protobuf import message, number
from sample_traces import contents, gpu_trace, trace_of


def load_json(tmp_path: Path, document: Any) -> Trace:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(document, indent=2))
    return load(path)


def test_the_content_decides_not_the_suffix(tmp_path: Path) -> None:
    gpu_trace().save(tmp_path / "a.json.gz")
    (tmp_path / "a.json.gz").rename(tmp_path / "packed.txt")
    gpu_trace().save(tmp_path / "b.json")
    (tmp_path / "b.json").rename(tmp_path / "plain.gz")
    assert contents(load(tmp_path / "packed.txt")) == contents(load(tmp_path / "plain.gz"))
    assert contents(load(str(tmp_path / "plain.gz"))) == contents(gpu_trace())


def test_members_of_a_gzip_file_are_one_text(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(b'[{"ph":"X","ts":1,') + gzip.compress(b'"name":"a"}]'))
    assert load(path).events[0].name == "a"


def test_zeros_after_a_gzip_member_are_padding(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(b"[") + bytes(100_000) + gzip.compress(b"]") + bytes(1000))
    assert len(load(path)) == 0


def test_a_file_that_unpacks_to_much_more_comes_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(b"[" + b" " * (64 << 20) + b"]"))
    assert len(load(path)) == 0


def test_gzip_is_read_without_isal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu_trace().save(tmp_path / "trace.json.gz")
    monkeypatch.setitem(sys.modules, "isal", None)
    assert len(load(tmp_path / "trace.json.gz")) == 3


def test_a_file_that_is_not_there_is_our_error(tmp_path: Path) -> None:
    with pytest.raises(KinetographError, match=r"cannot read .*No such file"):
        load(tmp_path / "nothing.json")
    with pytest.raises(KinetographError, match=r"cannot read .*directory"):
        load(tmp_path)


def test_a_malformed_file_gets_byte_reason_and_hint(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text('{"traceEvents": [{"ph": "X", "ts": oops}]}')
    with pytest.raises(TraceFormatError, match="expected a digit, got 'o', at byte 35") as caught:
        load(path)
    assert caught.value.offset == 35
    assert "hint:" in str(caught.value)


@pytest.mark.parametrize(("suffix", "reason"), [(".json", "ends at byte"), (".pftrace", "ends within")])
def test_a_file_whose_writer_died_is_loaded_as_far_as_it_goes(
    tmp_path: Path, suffix: str, reason: str
) -> None:
    whole, cut = tmp_path / f"whole{suffix}", tmp_path / f"cut{suffix}"
    gpu_trace().save(whole)
    cut.write_bytes(whole.read_bytes()[:-3])
    trace = load(cut)
    assert [event.name for event in trace.events] == ["aten::mm", "cudaLaunchKernel", "gemm"]
    (note,) = (note for note in trace.notes if note.kind == "truncated")
    assert note.text.startswith(f"the file {reason}")
    trace.save(whole)
    assert note in load(whole).notes


@pytest.mark.parametrize("without_isal", [False, True])
@pytest.mark.parametrize("suffix", [".json.gz", ".pftrace.gz"])
def test_a_gzip_file_whose_writer_died_is_loaded_as_far_as_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, without_isal: bool
) -> None:
    if without_isal:
        monkeypatch.setitem(sys.modules, "isal", None)
    path = tmp_path / f"trace{suffix}"
    # Random enough that no block of the packed text is the whole of it.
    spans = [(f"span {i * 7919 % 10007}", i * 100, i * 100 + i * 31 % 97) for i in range(5000)]
    trace_of(*spans).save(path)
    whole = path.read_bytes()
    lengths = []
    for size in (len(whole) // 2, len(whole) - 20, len(whole) - 8, len(whole) - 1):
        path.write_bytes(whole[:size])
        trace = load(path)
        lengths.append(len(trace))
        assert [note.kind for note in trace.notes] == ["truncated"]
    assert 0 < lengths[0] < 5000
    assert lengths == sorted(lengths)
    assert lengths[-1] == 5000


@pytest.mark.parametrize("without_isal", [False, True])
def test_a_damaged_gzip_file_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_isal: bool
) -> None:
    if without_isal:
        monkeypatch.setitem(sys.modules, "isal", None)
    path = tmp_path / "trace.json.gz"
    gpu_trace().save(path)
    whole = path.read_bytes()
    damaged = whole[:60] + b"\xff\xff\xff" + whole[63:]
    wrong_checksum = whole[:-8] + b"\0" * 8
    for text in (whole[:20], damaged, wrong_checksum, b"\x1f\x8b", whole + b"garbage"):
        path.write_bytes(text)
        with pytest.raises(TraceFormatError, match="gzip file"):
            load(path)


def test_devices_are_told_by_category_in_foreign_files(tmp_path: Path) -> None:
    event = {"ph": "X", "name": "gemm", "cat": "kernel", "pid": 3, "tid": 7, "ts": 1, "dur": 1}
    track = load_json(tmp_path, {"traceEvents": [event]}).tracks[0]
    assert (track.device_type, track.device_index) == (DeviceType.CUDA, 3)


def test_external_ids_become_links(tmp_path: Path) -> None:
    events = [
        {
            "ph": "X",
            "cat": "kernel",
            "name": "k",
            "pid": 0,
            "tid": 7,
            "ts": 5,
            "dur": 1,
            "args": {"External id": 42},
        },
        {
            "ph": "X",
            "cat": "cpu_op",
            "name": "op",
            "pid": 1,
            "tid": 1,
            "ts": 1,
            "dur": 9,
            "args": {"External id": 42},
        },
        {
            "ph": "X",
            "cat": "kernel",
            "name": "l",
            "pid": 0,
            "tid": 7,
            "ts": 8,
            "dur": 1,
            "args": {"External id": 9},
        },
    ]
    trace = load_json(tmp_path, events)
    linked = {event.name: event.linked and event.linked.name for event in trace.events}
    assert linked == {"op": None, "k": "op", "l": None}


def test_allocations_are_no_unfinished_spans(tmp_path: Path) -> None:
    event = {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 1}
    event["args"] = {"Addr": 1, "Bytes": 8, "finished": False}
    loaded = load_json(tmp_path, [event]).events[0]
    assert loaded.kind is EventKind.MEMORY
    assert loaded.finished
    assert loaded.args == {"Addr": 1, "Bytes": 8}


def test_ids_of_any_form_name_processes_and_threads(tmp_path: Path) -> None:
    ids = [1, -1, "Spans 2", 2**40, None]
    events = [{"ph": "X", "name": "x", "pid": pid, "tid": "t\n", "ts": 1, "dur": 1} for pid in ids]
    trace = load_json(tmp_path, events)
    assert [event.process_id for event in trace.events] == [1, -1, "Spans 2", 2**40, 0]
    assert trace.events[0].thread_id == "t\n"


def test_a_read_error_of_the_callable_reaches_the_caller() -> None:
    from kinetograph import _native

    def broken() -> bytes:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _native.Trace.read_chrome_json(broken)
    with pytest.raises(TypeError):
        _native.Trace.read_chrome_json(lambda: "text")  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_a_trace_can_come_through_a_pipe(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"trace{suffix}"
    gpu_trace().save(path)
    program = "from kinetograph.trace import load; print(len(load('/dev/stdin')))"
    with subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE) as cat:
        done = subprocess.run(
            [sys.executable, "-c", program], stdin=cat.stdout, capture_output=True, text=True, check=True
        )
    assert done.stdout == "3\n"


@pytest.mark.parametrize("suffix", [".pftrace", ".pftrace.gz"])
def test_perfetto_traces_are_known_by_their_bytes(tmp_path: Path, suffix: str) -> None:
    gpu_trace().save(tmp_path / f"trace{suffix}")
    (tmp_path / f"trace{suffix}").rename(tmp_path / "trace.json")
    assert contents(load(tmp_path / "trace.json")) == contents(gpu_trace())


@pytest.mark.parametrize("space", ["\n", "\n\n  ", "\n\t"])
@pytest.mark.parametrize("text", ['{ "traceEvents": []}', "[]", '[\n{"ph": "X", "ts": 1}]'])
def test_json_may_begin_with_the_byte_that_a_perfetto_trace_begins_with(
    tmp_path: Path, space: str, text: str
) -> None:
    path = tmp_path / "trace.json"
    path.write_text(space + text)
    assert len(load(path)) <= 1


@pytest.mark.parametrize("length", [91, 123])
def test_a_packet_that_is_as_long_as_a_bracket_is_no_json(tmp_path: Path, length: int) -> None:
    path = tmp_path / "trace.pftrace"
    text = bytes([0x0A, length]) + message(998, bytes(length - 3))
    assert text[1] in b"[{"
    path.write_bytes(text)
    assert "unread" in [note.kind for note in load(path).notes]


def test_a_malformed_perfetto_trace_gets_byte_reason_and_hint(tmp_path: Path) -> None:
    path = tmp_path / "trace.pftrace"
    gpu_trace().save(path)
    whole = path.read_bytes()
    path.write_bytes(whole + b"garbage")
    with pytest.raises(TraceFormatError, match="expected a packet of a Perfetto trace") as caught:
        load(path)
    assert caught.value.offset == len(whole)
    assert "hint:" in str(caught.value)


def packet(content: bytes) -> bytes:
    """On a sequence of its own, as writers of other programs make them."""
    return message(1, content + number(10, 7))


def event(time: int, kind: int, track: int, more: bytes = b"") -> bytes:
    return packet(number(8, time) + message(11, number(9, kind) + number(11, track) + more))


def test_events_of_a_foreign_track_that_is_called_like_us_are_events(tmp_path: Path) -> None:
    path = tmp_path / "foreign.pftrace"
    path.write_bytes(
        packet(message(60, number(1, 56) + message(2, b"kinetograph")))
        + event(2_000, 3, 56, message(23, b"kinetograph"))
        + event(2_500, 3, 56, message(23, b"another"))
    )
    assert [event.name for event in load(path).events] == ["kinetograph", "another"]


def test_the_simple_part_of_a_foreign_perfetto_trace_is_read(tmp_path: Path) -> None:
    wall_ns = 1_700_000_000_000_000_000
    clocks = message(1, number(1, 6) + number(2, 1_000)) + message(1, number(1, 1) + number(2, wall_ns))
    path = tmp_path / "foreign.pftrace"
    path.write_bytes(
        packet(message(6, clocks))
        + packet(message(60, number(1, 55) + message(3, number(1, 42) + message(6, b"server"))))
        + packet(
            message(60, number(1, 56) + message(4, number(1, 42) + number(2, 43) + message(5, b"worker")))
        )
        + packet(message(60, number(1, 57) + number(5, 55) + message(2, b"bytes") + message(8, b"")))
        + event(2_000, 1, 56, message(23, b"outer") + message(4, message(10, b"key") + number(4, 5)))
        + event(2_200, 4, 57, number(30, 12))
        + event(2_500, 2, 56)
        + event(2_600, 1, 56, message(23, b"open"))
        + event(2_700, 2, 57)
        + packet(message(66, b""))
    )
    trace = load(path)
    assert [(event.name, event.start_ns, event.duration_ns, event.args) for event in trace.events] == [
        ("outer", wall_ns + 1_000, 500, {"key": 5}),
        ("open", wall_ns + 1_600, 0, {}),
        ("bytes", wall_ns + 1_200, 0, {"value": 12}),
    ]
    assert [event.finished for event in trace.events] == [True, False, True]
    assert (trace.events[0].process_id, trace.events[0].track.name) == (42, "worker")
    assert trace.processes[0].name == "server"
    (note,) = trace.notes
    assert "1 of packets with field 66" in note.text
    assert "1 that end what did not begin" in note.text

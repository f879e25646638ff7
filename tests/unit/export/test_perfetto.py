"""Perfetto's format: what is in the bytes, told by a decoder of protobuf that is not the writer's."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetograph import _native
from kinetograph.errors import KinetographError
from kinetograph.trace import EventFlag, EventKind, Trace
from protobuf import fields, many, one
from sample_traces import NOW_NS, gpu_trace, parsed_contents, trace_of, traces

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def written_bytes(trace: Trace) -> bytes:
    blocks: list[bytes] = []
    trace.native.write_perfetto(blocks.append)
    return b"".join(blocks)


def packets(trace: Trace) -> list[dict[int, list[Any]]]:
    return [fields(packet) for packet in fields(written_bytes(trace))[1]]


def track_events(trace: Trace) -> list[dict[int, list[Any]]]:
    """Without the instant that holds notes and metadata."""
    return [fields(packet[11][0]) for packet in packets(trace) if 11 in packet][1:]


def descriptors(trace: Trace) -> list[dict[int, list[Any]]]:
    return [fields(packet[60][0]) for packet in packets(trace) if 60 in packet]


@settings(max_examples=100, deadline=None)
@given(traces())
def test_every_begin_has_its_end_and_times_never_go_back(trace: Trace) -> None:
    open_spans: Counter[Any] = Counter()
    for packet in packets(trace):
        if 11 not in packet:
            continue
        event = fields(packet[11][0])
        assert one(packet, 8) < 2**62, "a difference that is negative"
        place = one(packet, 10), one(event, 11)
        open_spans[place] += {BEGIN: 1, END: -1}.get(one(event, 9), 0)
        assert open_spans[place] >= 0
    assert not +open_spans


def read_bytes(text: bytes, piece: int = 1 << 20) -> Trace:
    pieces = [text[at : at + piece] for at in range(0, len(text), piece)][::-1]
    return Trace(_native.Trace.read_perfetto(lambda: pieces.pop() if pieces else b""))


def test_a_counter_with_a_number_that_is_too_large_is_written_alike_again() -> None:
    trace = Trace()
    args = '{"text": null, "large": 9223372036854775808}'
    trace.native.append("queue", "counter", EventKind.COUNTER, 5, 0, 1, 1, args_json=args)
    text = written_bytes(trace)
    assert written_bytes(read_bytes(text)) == text


@settings(max_examples=300, deadline=None)
@given(traces())
def test_any_trace_comes_back_as_it_does_from_json(trace: Trace) -> None:
    text = written_bytes(trace)
    again = read_bytes(text)
    assert parsed_contents(again) == parsed_contents(trace)
    assert written_bytes(again) == text


@settings(max_examples=50, deadline=None)
@given(traces(), st.integers(1, 50))
def test_pieces_may_break_anywhere(trace: Trace, piece: int) -> None:
    text = written_bytes(trace)
    assert written_bytes(read_bytes(text, piece)) == text


@settings(max_examples=50, deadline=None)
@given(traces())
def test_equal_traces_give_equal_bytes(trace: Trace) -> None:
    assert written_bytes(trace) == written_bytes(trace)


def test_a_slice_without_arguments_takes_at_most_forty_bytes() -> None:
    count = 50_000
    spans = ((f"name {i % 300}", NOW_NS + i * 20_000, NOW_NS + i * 20_000 + 9_000) for i in range(count))
    assert len(written_bytes(trace_of(*spans))) / count <= 40


def test_a_name_stands_in_its_sequence_once() -> None:
    trace = trace_of(*(("a repeated name", i, i + 1) for i in range(100)))
    assert written_bytes(trace).count(b"a repeated name") == 1


def test_strings_of_arguments_are_interned_from_the_second_time_on() -> None:
    trace = Trace()
    for i in range(100):
        args = f'{{"stack": "a long string that comes back", "once": "only here {i}"}}'
        trace.native.append("x", "cpu_op", EventKind.SPAN, i * 10, 5, 1, 1, args_json=args)
    text = written_bytes(trace)
    assert text.count(b"a long string that comes back") == 2
    assert text.count(b"only here 77") == 1
    assert text.count(b"stack") == 1


def test_spans_that_cross_are_on_tracks_of_their_own() -> None:
    trace = trace_of(("a", 0, 10), ("b", 5, 15), ("c", 6, 9))
    begins = [one(event, 11) for event in track_events(trace) if one(event, 9) == BEGIN]
    assert [begin is None for begin in begins] == [True, False, True]
    (lane,) = [track for track in descriptors(trace) if one(track, 1) == begins[1]]
    assert one(lane, 2).endswith(b" lane 1")


def test_a_stream_is_a_named_track_of_its_device_and_no_thread() -> None:
    tracks = {one(track, 2): track for track in descriptors(gpu_trace())}
    stream = tracks[b"stream 7 "]
    assert 4 not in stream
    (device,) = [track for track in descriptors(gpu_trace()) if one(track, 1) == one(stream, 5)]
    assert one(fields(one(device, 3)), 1) == 0


def test_a_launch_with_many_kernels_has_an_arrow_to_each() -> None:
    trace = gpu_trace()
    for i in range(3):
        trace.native.append("more", "kernel", 0, NOW_NS + 20_000 + i * 100, 50, 0, 7, correlation=77)
    trace.native.sort()
    sources = [flow for event in track_events(trace) for flow in many(event, 47)]
    targets = [flow for event in track_events(trace) for flow in many(event, 48)]
    assert sorted(sources) == sorted(targets)
    assert len(set(sources)) == 4


def test_what_only_kinetos_json_has_is_not_there() -> None:
    trace = gpu_trace()
    trace.native.append("f", "python_function", EventKind.SPAN, NOW_NS, 5, 1, 1)
    text = written_bytes(trace)
    for word in (
        b"External id",
        b"Ev Idx",
        b"Record function id",
        b"Python id",
        b"Spans",
        b"Iteration Start",
    ):
        assert word not in text


def test_flags_are_arguments_under_their_names_in_json() -> None:
    trace = Trace()
    flags = EventFlag.UNFINISHED | EventFlag.ASYNC | EventFlag.RESUMED
    trace.native.append("x", "cpu_op", EventKind.SPAN, 0, 5, 1, 1, flags=flags, scope=1)
    text = written_bytes(trace)
    for word in (b"finished", b"Async span", b"Resumed", b"Record scope"):
        assert word in text


def test_spans_a_thousand_deep_begin_and_end() -> None:
    depth = 1_000
    types = [
        one(event, 9) for event in track_events(trace_of(*((f"f{i}", i, 5_000 - i) for i in range(depth))))
    ]
    assert types == [BEGIN] * depth + [END] * depth


def test_names_of_any_text_come_out_as_utf8() -> None:
    names = ["", "nul \0 inside", "\u20ac \U0001f600", "\ud800 alone"]
    text = written_bytes(trace_of(*((name, i, i + 1) for i, name in enumerate(names))))
    for name in [*names[1:3], "? alone"]:
        assert name.encode() in text


@pytest.mark.parametrize("suffix", [".pftrace", ".perfetto-trace", ".pftrace.gz", ".perfetto-trace.gz"])
def test_the_suffix_chooses_the_format(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"trace{suffix}"
    gpu_trace().save(path)
    content = path.read_bytes()
    unpacked = gzip.decompress(content) if suffix.endswith(".gz") else content
    assert unpacked == written_bytes(gpu_trace())


def test_a_folder_that_is_not_there_is_our_error(tmp_path: Path) -> None:
    with pytest.raises(KinetographError, match=r"cannot write .*No such file"):
        gpu_trace().save(tmp_path / "no" / "trace.pftrace")

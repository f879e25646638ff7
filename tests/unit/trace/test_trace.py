"""A trace seen from Python: columns, tables, notes, and changes to them."""

from __future__ import annotations

import copy
import gc
import pickle
from pathlib import Path

import numpy as np
import pytest

from kinetograph import _native
from kinetograph.errors import KinetographError
from kinetograph.trace import DeviceType, EventKind, Note, Trace, load
from kinetograph.trace.columns import COLUMNS
from kinetograph.trace.words import RESERVED_METADATA
from sample_traces import NOW_NS, contents, gpu_trace, trace_of


def test_columns_are_read_only_views_of_all_rows() -> None:
    columns = gpu_trace().columns
    assert set(columns) == set(COLUMNS)
    for column in columns.values():
        assert column.shape == (3,)
        assert not column.flags.writeable
    assert columns["duration_ns"].tolist() == [9_000, 1_000, 8_000]
    assert columns["start_ns"].dtype == np.int64


def test_columns_that_no_event_needs_hold_their_neutral_value() -> None:
    columns = trace_of(("a", 0, 5), ("b", 1, 2)).columns
    assert columns["correlation"].tolist() == [0, 0]
    assert columns["link"].tolist() == [-1, -1]
    assert columns["sequence"].tolist() == [-1, -1]


@pytest.mark.parametrize("suffix", [".json", ".pftrace"])
def test_the_number_of_a_call_is_a_column_and_comes_back_from_files(suffix: str, tmp_path: Path) -> None:
    trace = Trace()
    for name, args in (("a", "{}"), ("b", '{"Record function id":7,"x":1}'), ("c", "{}")):
        trace.native.append(name, "cpu_op", EventKind.SPAN, NOW_NS, 5, 1, 1, args_json=args)
    path = tmp_path / f"trace{suffix}"
    trace.save(path)
    for seen in (trace, load(path)):
        assert seen.columns["record_function"].tolist() == [0, 7, 0]
        assert [event.record_function_id for event in seen.events] == [0, 7, 0]
        assert seen.events[1].args == {"x": 1}


def test_an_unknown_column_names_the_known_ones() -> None:
    with pytest.raises(KeyError, match="duration_ns"):
        trace_of(("a", 0, 5)).columns["duration"]


def test_an_empty_trace_has_empty_columns() -> None:
    trace = Trace()
    assert len(trace) == 0
    assert trace.start_ns == trace.end_ns == 0
    assert all(column.size == 0 for column in trace.columns.values())


def test_a_view_outlives_its_trace() -> None:
    starts = trace_of(*((str(i), i, i + 1) for i in range(100_000))).columns["start_ns"]
    gc.collect()
    assert int(starts.sum()) == sum(range(100_000))


def test_a_view_keeps_what_it_showed_when_the_trace_changes() -> None:
    trace = trace_of(("late", 10, 12))
    before = trace.columns["start_ns"]
    for i in range(10_000):
        trace.native.append("early", "cpu_op", EventKind.SPAN, i % 10, 1, 1, 1)
    trace.native.sort()
    assert before.tolist() == [10]
    assert len(trace.columns["start_ns"]) == 10_001
    assert trace.columns["start_ns"][-1] == 10


def test_nesting_follows_changes() -> None:
    trace = trace_of(("outer", 0, 10))
    assert trace.columns["self_ns"].tolist() == [10]
    trace.native.append("inner", "user_annotation", EventKind.SPAN, 2, 3, 1, 1)
    trace.native.sort()
    assert trace.columns["self_ns"].tolist() == [7, 3]
    assert trace.columns["parent"].tolist() == [-1, 0]


def test_tracks_and_processes_are_described() -> None:
    host, stream = gpu_trace().tracks
    assert (host.process.pid, host.tid, host.name) == (1, 1, "thread 1 (python)")
    assert host.device_type is DeviceType.CPU
    assert (stream.process.labels, stream.tid, stream.device_type) == ("GPU 0", 7, DeviceType.CUDA)
    assert stream.device_index == 0


def test_appending_names_a_new_track_and_its_device() -> None:
    trace = Trace()
    trace.native.append(
        "shader", "kernel", 0, 5, 1, 0, 3, track_name="queue 3", device_type=DeviceType.VULKAN, device_index=2
    )
    assert trace.tracks[0].name == "queue 3"
    assert trace.tracks[0].device_type is DeviceType.VULKAN
    assert trace.tracks[0].device_index == 2


def test_metadata_is_json_in_and_out() -> None:
    trace = Trace()
    trace.metadata["a"] = {"b": [1, None]}
    trace.metadata["a"] = {"b": 2}
    assert dict(trace.metadata) == {"a": {"b": 2}}
    with pytest.raises(_native.ParseError):
        trace.native.set_metadata("a", "{not json")
    with pytest.raises(TypeError, match="not deleted"):
        del trace.metadata["a"]


def test_notes_are_kept_in_order() -> None:
    trace = Trace()
    trace.add_note("clock", "about 3 ns off")
    trace.add_note("dropped", "17 events")
    assert trace.notes == [Note("clock", "about 3 ns off"), Note("dropped", "17 events")]


def test_the_window_else_the_events_bound_the_trace() -> None:
    assert (gpu_trace().start_ns, gpu_trace().end_ns) == (NOW_NS - 1_000, NOW_NS + 20_000)
    trace = trace_of(("a", 5, 10), ("b", 7, 30))
    assert (trace.start_ns, trace.end_ns) == (5, 30)


def test_columns_in_a_file_look_the_same(tmp_path: Path) -> None:
    native = _native.Trace(str(tmp_path))
    for i in range(20_000):
        native.append("x", "cpu_op", 0, i, 1, 1, 1)
    trace = Trace(native)
    trace.save(tmp_path / "trace.json")
    assert trace.columns["start_ns"].tolist() == list(range(20_000))
    assert [path.name for path in tmp_path.iterdir()] == ["trace.json"]


def test_a_row_that_is_not_there_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        Trace().native.set_args(0, "{}")
    with pytest.raises(IndexError):
        Trace().native.set_link(0, -1)


def test_wrong_args_change_nothing() -> None:
    trace = trace_of(("a", 0, 5))
    with pytest.raises(_native.ParseError):
        trace.native.append("b", "cpu_op", 0, 0, 1, 1, 1, args_json='{"a": nonsense}')
    with pytest.raises(_native.ParseError):
        trace.native.set_args(0, '{"a": 1} trailing')
    assert len(trace) == 1
    assert trace.events[0].args == {}


def test_metadata_is_found_under_the_key_it_was_given() -> None:
    trace = Trace()
    trace.metadata["lone \ud800"] = 1
    assert trace.metadata["lone \ud800"] == 1
    assert 5 not in trace.metadata


@pytest.mark.parametrize("value", [float("nan"), object(), [{1}]])
def test_metadata_that_json_does_not_have_is_refused(value: object) -> None:
    with pytest.raises(KinetographError, match=r"metadata\['a'\]: expected a value that JSON has") as caught:
        Trace().metadata["a"] = value
    assert caught.value.hint


def test_metadata_takes_numbers_of_numpy_and_any_text() -> None:
    trace = Trace()
    trace.metadata["count \ud800"] = np.int64(3)
    assert trace.metadata == {"count \\ud800": 3}


@pytest.mark.parametrize("key", sorted(RESERVED_METADATA))
def test_keys_that_the_writer_fills_are_not_metadata(key: str) -> None:
    with pytest.raises(KinetographError, match="written from the trace itself"):
        Trace().metadata[key] = 1


def test_keys_and_notes_are_text() -> None:
    with pytest.raises(KinetographError, match="key: expected a string, got 3"):
        Trace().metadata[3] = 1  # type: ignore[index]
    for kind, text in ((1, "b"), ("a", 2)):
        with pytest.raises(KinetographError, match="expected a string, got"):
            Trace().add_note(kind, text)  # type: ignore[arg-type]


def test_a_trace_travels_by_pickle_whole() -> None:
    trace = gpu_trace()
    trace.metadata["step"] = 3
    trace.add_note("partial", "a note")
    for twin in (pickle.loads(pickle.dumps(trace)), copy.deepcopy(trace)):
        assert contents(twin) == contents(trace)
    event = pickle.loads(pickle.dumps(trace.events[2]))
    assert (event.name, event.linked.name) == ("gemm", "aten::mm")


def test_traces_columns_and_events_show_what_they_are() -> None:
    one = trace_of(("a", 0, 5))
    assert repr(one) == "<Trace of 1 event on 1 track>"
    assert repr(one.events) == "<1 event>"
    assert repr(one.columns).endswith("self_device_ns of 1 event>")


@pytest.mark.parametrize("path", [3, b"x.json", "", "a\0b.json", "\ud800.json"])
def test_what_is_no_path_is_neither_saved_to_nor_loaded(path: str) -> None:
    with pytest.raises(KinetographError, match="path: expected a path, got"):
        Trace().save(path)
    with pytest.raises(KinetographError, match="path: expected a path, got"):
        load(path)


def test_metadata_deeper_than_files_can_hold_is_refused_by_its_key() -> None:
    value: list[object] = []
    for _level in range(200):
        value = [value]
    with pytest.raises(KinetographError, match=r"metadata\['deep'\]"):
        Trace().metadata["deep"] = value


def test_a_pid_that_is_no_whole_number_is_text(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text('[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1e400,"tid":1.5}]')
    (track,) = load(path).tracks
    assert (track.process.pid, track.tid) == ("1e400", "1.5")

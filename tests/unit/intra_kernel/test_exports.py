"""Files of profiler buffers: what they are called, and what is said of those that lack something."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kinetograph as kg
from kinetograph.errors import ArgumentError, UsageError
from kinetograph.intra_kernel import layout
from kinetograph.intra_kernel.cuda import ProfilerBuffer, alloc_profiler_buffer, export_to_perfetto_trace


def new_buffer() -> np.ndarray:
    return alloc_profiler_buffer(100, kind="numpy")  # type: ignore[no-any-return]


def fill(buffer: np.ndarray) -> None:
    """As if one more block than there are segments had come."""
    words = buffer.view(np.uint32)
    slots, segments, first = (int(words[at]) for at in (2, 3, 4))
    words[6] = segments + 1
    for segment in range(segments):
        words[(first + segment * slots) * 4] = layout.SEGMENT_MAGIC


def test_what_found_no_room_is_said_where_the_file_is_written(tmp_path: Path) -> None:
    buffer = new_buffer()
    fill(buffer)
    with pytest.warns(RuntimeWarning, match=r"copy\.perfetto-trace: 1 blocks found no") as caught:
        export_to_perfetto_trace(buffer, [], tmp_path / "copy")
    assert caught[0].filename == __file__
    wrapped = ProfilerBuffer(100, tmp_path / "wrapped", kind="numpy")
    with pytest.warns(RuntimeWarning, match="found no free segment"), wrapped as buffer:
        fill(buffer)


def test_a_file_with_nothing_in_it_is_written_and_said_to_be_empty(tmp_path: Path) -> None:
    with pytest.warns(RuntimeWarning, match=r"copy\.json: no kernel has recorded anything") as caught:
        export_to_perfetto_trace(new_buffer(), [], tmp_path / "copy.json")
    assert len(caught) == 1
    assert len(kg.load(tmp_path / "copy.json")) == 0


@pytest.mark.filterwarnings("ignore:.*no kernel has recorded")
def test_a_file_that_could_not_be_written_has_no_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> None:
        raise OSError("the disk is full")

    wrapped = ProfilerBuffer(100, tmp_path / "copy.json", kind="numpy")
    with monkeypatch.context() as patched, pytest.raises(OSError, match="full"), wrapped:
        patched.setattr(kg.Trace, "save", fail)
    for _ in range(2):
        with wrapped:
            pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.1.json", "copy.json"]


def test_a_folder_is_no_name_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="trace_file: expected a file"):
        ProfilerBuffer(100, f"{tmp_path}/", kind="numpy")


@pytest.mark.filterwarnings("ignore:.*no kernel has recorded")
def test_a_buffer_that_is_in_use_does_not_begin_anew(tmp_path: Path) -> None:
    wrapped = ProfilerBuffer(100, tmp_path / "copy", kind="numpy")
    with wrapped as buffer:
        buffer[-1] = 1
        with pytest.raises(UsageError, match="in use already"), wrapped:
            pass
        assert buffer[-1] == 1
    with wrapped as buffer:
        assert buffer[-1] == 0


def test_names_of_tasks_are_a_list_of_texts(tmp_path: Path) -> None:
    for names in ("load", None, [1, 2], {0: "load"}):
        with pytest.raises(ArgumentError, match="task_names"):
            export_to_perfetto_trace(new_buffer(), names, tmp_path / "copy")  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="task_names"):
            ProfilerBuffer(100, tmp_path / "copy", names)  # type: ignore[arg-type]


def test_an_error_calls_the_argument_by_its_name() -> None:
    with pytest.raises(UsageError, match=r"^file_name: there is no folder"):
        export_to_perfetto_trace(new_buffer(), [], "no such folder/copy")
    with pytest.raises(UsageError, match=r"^trace_file: there is no folder"):
        ProfilerBuffer(100, "no such folder/copy")


def test_more_slots_than_fit_into_the_largest_buffer_are_not_promised() -> None:
    with pytest.raises(UsageError, match="do not fit into 2 GiB"):
        alloc_profiler_buffer(1 << 27, slots_per_segment=8, kind="numpy")

"""The header for CUDA C++: its numbers, and what kernels record with it, on a GPU made of one CPU."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from on_host import launch
from recorded_events import NAMES, payloads, told, told_by_steps

import kinetograph as kg
from kinetograph.intra_kernel import layout
from kinetograph.intra_kernel.cuda import (
    alloc_profiler_buffer,
    cuda_source,
    include_dir,
    load_profiler_buffer,
    reset_profiler_buffer,
)

needs_compiler = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")


def new_buffer(slots: int = 1000, slots_per_segment: int = 32) -> np.ndarray:
    return alloc_profiler_buffer(slots, slots_per_segment, kind="numpy")  # type: ignore[no-any-return]


def test_numbers_are_those_of_the_layout() -> None:
    defined = re.findall(r"^    ([A-Z_]+) = (\w+)u,$", cuda_source(), flags=re.MULTILINE)
    assert len(defined) == 12
    assert {name: int(value, 0) for name, value in defined} == {
        name: getattr(layout, name) for name, _value in defined
    }


def test_the_header_stands_alone() -> None:
    assert "#include <" not in re.sub(r"//.*", "", cuda_source())
    assert Path(include_dir(), "kinetograph", "intra_kernel.cuh").read_text() == cuda_source()


@needs_compiler
def test_a_kernel_records_what_it_does() -> None:
    buffer = new_buffer()
    assert np.array_equal(launch("steps", 3, 4, buffer, 0), np.arange(12) * 8)
    trace = load_profiler_buffer(buffer, NAMES)
    assert told(trace) == told_by_steps(blocks=3, threads=4)
    assert not trace.notes


@needs_compiler
def test_launches_share_a_buffer_until_it_is_reset() -> None:
    buffer = new_buffer()
    for _ in range(2):
        launch("steps", 3, 4, buffer, 0)
    assert told(load_profiler_buffer(buffer, NAMES)) == told_by_steps(3, 4, launches=2)
    reset_profiler_buffer(buffer)
    assert len(load_profiler_buffer(buffer)) == 0


@needs_compiler
def test_each_warp_may_have_a_row() -> None:
    buffer = new_buffer()
    launch("warps", 2, 96, buffer, 0)
    trace = load_profiler_buffer(buffer)
    rows = [f"block {block} group {group}" for block in range(2) for group in range(3)]
    assert [track.name for track in trace.tracks] == rows
    marks = [event for event in trace.events if event.kind == kg.EventKind.INSTANT]
    assert [event.args["payload"] for event in marks] == [0, 32, 64] * 2


@needs_compiler
def test_numbers_of_all_types_are_payloads() -> None:
    buffer = new_buffer()
    launch("numbers", 1, 2, buffer, 5)
    trace = load_profiler_buffer(buffer)
    assert {event.track.name for event in trace.events} == {"block 0 group 1"}
    assert {event.name for event in trace.events} == {"task 5"}
    values = [-1, 4_000_000_000, -5_000_000_000, ord("A"), 0.25, 7, 9, None]
    assert [payloads(event)[0] for event in trace.events] == values


@needs_compiler
def test_what_finds_no_room_is_told_and_written_nowhere_else() -> None:
    buffer = new_buffer(slots_per_segment=8)
    launch("sums", 1, 1, buffer, 100)  # room for five of 200
    [note] = load_profiler_buffer(buffer).notes
    assert note.text.startswith("about 196 records found no slot, in 1 full segments")
    first = int(buffer.view(np.uint32)[4]) * 2
    assert set(np.flatnonzero(buffer[8:]) + 8) <= set(range(first, first + 14))


@needs_compiler
def test_without_a_buffer_nothing_is_recorded() -> None:
    assert np.array_equal(launch("steps", 3, 4, None, 0), np.arange(12) * 8)


@needs_compiler
def test_blocks_without_a_segment_write_nothing() -> None:
    buffer = new_buffer(slots=1)
    segments = int(buffer.view(np.uint32)[3])
    launch("steps", segments, 1, buffer, 0)
    full = buffer.copy()
    launch("steps", 2, 1, buffer, 0)
    changed = np.flatnonzero(full != buffer)
    assert set(changed) == {3}
    assert buffer[3] == segments + 2
    [note] = load_profiler_buffer(buffer).notes
    assert note.text.startswith("2 blocks found no free segment")

"""Sessions take what profiler buffers hold: once, also where a buffer is emptied or freed before they end."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import kinetograph as kg
from kinetograph.intra_kernel import live

from synthetic import Buffer, inside  # isort: skip


class HostBuffer:
    """In memory of the host, as Triton's interpreter fills it: its globaltimer is the wall clock."""

    def __init__(self) -> None:
        self.records = Buffer(64)
        live.register(self, lambda buffer: buffer.records.contents()[0], ["load"])

    def run_kernel(self, block: int = 0) -> None:
        now_ns = time.time_ns()
        self.records.claim(block, 4, 0, now_ns)
        self.records.start(0, now_ns, payload=block)
        self.records.end(0, now_ns + 100)

    def reset(self) -> None:
        live.keep_contents(self)
        self.records = Buffer(64)
        live.forget_contents(self)


@pytest.fixture
def buffer() -> Iterator[HostBuffer]:
    made = HostBuffer()
    yield made
    del made
    gc.collect()


def blocks(trace: kg.Trace) -> list[int]:
    return [event.args["payload"] for event in inside(trace)]


def test_records_of_a_session_are_in_its_trace_with_their_names(buffer: HostBuffer) -> None:
    buffer.run_kernel(1)
    with kg.profile(activities=["cpu"]) as p:
        buffer.run_kernel(2)
    buffer.run_kernel(3)
    assert blocks(p.trace) == [2]
    assert [event.name for event in inside(p.trace)] == ["load"]
    assert p.trace.metadata["intra_kernel_clock"][0]["source"] == "host"


def test_what_was_recorded_in_a_pause_is_no_part_of_the_session(buffer: HostBuffer) -> None:
    with kg.profile(activities=["cpu"]) as p:
        buffer.run_kernel(1)
        p.toggle_collection_dynamic(False, ["cpu"])
        buffer.run_kernel(2)
        p.toggle_collection_dynamic(True, ["cpu"])
        buffer.run_kernel(3)
    assert blocks(p.trace) == [1, 3]


def test_a_buffer_that_is_made_in_the_session_takes_part() -> None:
    with kg.profile(activities=["cpu"]) as p:
        buffer = HostBuffer()
        buffer.run_kernel(5)
    assert blocks(p.trace) == [5]


def test_what_was_recorded_before_a_reset_is_there_once(buffer: HostBuffer) -> None:
    with kg.profile(activities=["cpu"]) as p:
        buffer.run_kernel(1)
        live.keep_contents(buffer)
        buffer.run_kernel(2)
        buffer.reset()
        buffer.run_kernel(3)
    assert sorted(blocks(p.trace)) == [1, 2, 3]


def test_each_of_two_sessions_gets_its_own_part(buffer: HostBuffer) -> None:
    with kg.profile(activities=["cpu"]) as outer:
        buffer.run_kernel(1)
        with kg.profile(activities=["cpu"]) as inner:
            buffer.run_kernel(2)
    assert blocks(inner.trace) == [2]
    assert blocks(outer.trace) == [1, 2]


def test_a_buffer_that_is_freed_with_its_records_is_told_of() -> None:
    with kg.profile(activities=["cpu"]) as p:
        buffer = HostBuffer()
        buffer.run_kernel(1)
        del buffer
        gc.collect()
    assert not inside(p.trace)
    assert any("freed before the session ended" in note.text for note in p.trace.notes)


def test_one_that_was_kept_before_it_was_freed_is_not_missed() -> None:
    with kg.profile(activities=["cpu"]) as p:
        buffer = HostBuffer()
        buffer.run_kernel(7)
        live.keep_contents(buffer)
        del buffer
        gc.collect()
    assert blocks(p.trace) == [7]
    assert not any("freed" in note.text for note in p.trace.notes)


def test_a_buffer_that_cannot_be_read_costs_a_note_and_nothing_else(buffer: HostBuffer) -> None:
    broken = HostBuffer()
    with kg.profile(activities=["cpu"]) as p:
        buffer.run_kernel(1)
        del broken.records
    assert blocks(p.trace) == [1]
    assert any("could not be read: AttributeError" in note.text for note in p.trace.notes)


def test_a_session_that_has_ended_wants_nothing_more(buffer: HostBuffer) -> None:
    with kg.profile(activities=["cpu"]):
        assert len(live._gatherings) == 1
    profile = kg.profile(activities=["cpu"], schedule=kg.schedule(wait=0, warmup=1, active=1))
    with profile:  # its only cycle is discarded in the warm-up
        buffer.run_kernel(1)
    assert not live._gatherings


def test_host_buffers_are_for_those_who_record_the_host(buffer: HostBuffer) -> None:
    kg.enable_profiler(kg.ProfilerConfig(), set())
    buffer.run_kernel(1)
    assert not inside(kg.disable_profiler().trace)


def test_a_buffer_of_a_device_is_read_only_for_those_who_record_devices(buffer: HostBuffer) -> None:
    on_device = HostBuffer()
    reads = []
    live.register(on_device, reads.append, device=0)
    with kg.profile(activities=["cpu"]) as p:
        buffer.run_kernel(1)
        live.keep_contents(on_device)
    assert blocks(p.trace) == [1]
    assert not reads
    with kg.profile(activities=["cpu"]) as p:
        del on_device
        gc.collect()
    assert not any("freed" in note.text for note in p.trace.notes)


def test_a_session_that_never_ends_keeps_no_more_than_its_limit(buffer: HostBuffer) -> None:
    gathering = live.Gathering(limit_bytes=5 * len(buffer.records.contents()[0]))
    for block in range(8):
        buffer.run_kernel(block)
        buffer.reset()
    buffer.run_kernel(8)
    kept = [data for data, _names, _device in gathering.finish()]
    assert len(kept) == 5 + 1
    assert kept[-1] == buffer.records.contents()[0]
    [note] = gathering.notes()
    assert note.startswith("3 times what profiler buffers held")


def test_the_limit_of_a_session_is_that_of_its_memory(buffer: HostBuffer) -> None:
    options = kg.RecordOptions(memory_limit_bytes=64 << 20)
    kg.enable_profiler(kg.ProfilerConfig(recording=options))
    [gathering] = live._gatherings
    kg.disable_profiler()
    assert gathering._limit_bytes == 64 << 20


PROGRAM = """
import ctypes, struct, time
from kinetograph.intra_kernel import layout
from kinetograph.intra_kernel.cuda import alloc_profiler_buffer
buffer = alloc_profiler_buffer(100, kind="numpy", task_names=["load"])
now_ns = time.time_ns()
first = int(buffer.view("uint32")[4])
words = layout.SEGMENT_MAGIC, 0, 1, 1 << 8, 5, 0, now_ns
start = 5 + layout.SUM_STEP
records = start, 0, now_ns, start + layout.SUM_STEP + layout.KIND_END, 100, 0
struct.pack_into("<IIII IIQ IIQ IIQ", buffer, first * layout.SLOT_BYTES, *words, *records)
buffer[3] = 1
"""


def run(folder: Path, program: str) -> kg.Trace:
    (folder / "program.py").write_text(program)
    trace, sessions = folder / "trace.json", folder / "sessions"
    sessions.mkdir()
    command = [sys.executable, "-m", "kinetograph", "run", "-q", "--session-dir", sessions, "-o", trace]
    subprocess.run([*command, folder / "program.py"], check=True, timeout=60)
    assert not list(sessions.iterdir())
    return kg.load(trace)


def test_a_whole_program_that_is_run_has_them_in_its_trace(tmp_path: Path) -> None:
    trace = run(tmp_path, PROGRAM)
    assert [(event.name, event.duration_ns) for event in inside(trace)] == [("load", 100)]
    assert not [note for note in trace.notes if note.kind == "intra_kernel"]


def test_each_process_of_a_run_has_its_own(tmp_path: Path) -> None:
    in_child = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', code], check=True)\n"
    trace = run(tmp_path, f"code = {PROGRAM!r}\n{in_child}exec(code)\n")
    assert len(inside(trace)) == 2
    clocks = trace.metadata["intra_kernel_clock"]
    assert [clock["source"] for clock in clocks] == ["host", "host"]
    assert {clock["of"] for clock in clocks} == {
        f"process {process['pid']}" for process in trace.metadata["processes"]
    }


def test_a_buffer_that_cannot_be_read_at_the_end_of_a_run_is_told_of(tmp_path: Path) -> None:
    broken = "from kinetograph.intra_kernel import live\nclass Buffer: pass\n"
    trace = run(tmp_path, PROGRAM + broken + "other = Buffer()\nlive.register(other, None)\n")
    assert len(inside(trace)) == 1
    [note] = [note for note in trace.notes if note.kind == "intra_kernel"]
    assert note.text.startswith("a profiler buffer could not be read: TypeError")

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
        live.register(self, lambda buffer: (buffer.records.contents()[0], -1), ["load"])

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


def test_a_whole_program_that_is_run_is_told_that_its_kernels_are_not_there(tmp_path: Path) -> None:
    program, trace = tmp_path / "program.py", tmp_path / "trace.json"
    program.write_text(
        "from kinetograph.intra_kernel import live\n"
        "class Buffer: pass\n"
        "buffer = Buffer()\n"
        "live.register(buffer, None)\n"
    )
    run = [sys.executable, "-m", "kinetograph", "run", "-q", "-o", str(trace), str(program)]
    subprocess.run(run, check=True, timeout=60)
    assert any(note.kind == "intra_kernel" for note in kg.load(trace).notes)

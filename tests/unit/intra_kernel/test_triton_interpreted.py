"""Kernels with records run on the CPU, in Triton's interpreter, and leave a trace."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from recorded_events import told, told_by_steps

import kinetograph as kg

pytest.importorskip("triton")
pytest.importorskip("torch")

HERE = Path(__file__).parent


def run_copy(path: Path, slots_per_segment: int = 32) -> None:
    run("interpreted_copy.py", str(path), str(slots_per_segment))


def run(program: str, *arguments: str) -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, str(HERE / program), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_copy_kernel_leaves_a_trace_each_time_it_is_exported(tmp_path: Path) -> None:
    run_copy(tmp_path / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "copy.1.perfetto-trace",
        "copy.perfetto-trace",
    ]
    for path in tmp_path.iterdir():
        trace = kg.load(path)
        assert [track.name for track in trace.tracks if "block" in track.name] == [
            "block 0",
            "block 1",
            "block 2",
        ]
        assert [event.name for event in trace.events] == ["non-perfect", "task 2", "task 3"] * 3
        assert not trace.notes


def test_ranges_hold_their_marks_and_payloads(tmp_path: Path) -> None:
    run_copy(tmp_path / "copy.json")
    events = list(kg.load(tmp_path / "copy.1.json").events)
    for block, (whole, arrived, scaled) in enumerate(zip(*[iter(events)] * 3, strict=True)):
        assert whole.start_ns <= arrived.start_ns <= scaled.start_ns <= whole.end_ns
        assert whole.category == "intra_kernel"
        assert whole.args["block"] == block
        assert whole.args["end_payload"] == 0.5
        assert scaled.args["payload"] == block


def test_what_finds_no_room_is_told_and_written_nowhere_else(tmp_path: Path) -> None:
    run_copy(tmp_path / "copy.json", slots_per_segment=8)  # room for five of seven slots
    [note] = [note for note in kg.load(tmp_path / "copy.json").notes if note.kind == "dropped"]
    assert note.text.startswith("about 9 records found no slot, in 3 full segments")


def test_a_kernel_records_what_the_same_one_does_in_cuda(tmp_path: Path) -> None:
    run("interpreted_steps.py", str(tmp_path / "steps.pftrace"))
    assert told(kg.load(tmp_path / "steps.pftrace")) == told_by_steps(blocks=3, threads=4)


def test_what_kernels_record_in_a_session_is_in_its_trace_and_in_the_file_of_its_own(tmp_path: Path) -> None:
    session, alone = tmp_path / "session.pftrace", tmp_path / "alone.json"
    run("interpreted_session.py", str(session), str(alone))
    trace = kg.load(session)
    ranges = [event for event in trace.events if event.category == "intra_kernel" and event.duration_ns > 0]
    # Not the launch before the session.
    assert sorted(event.name for event in ranges) == ["non-perfect"] * 3 + ["perfect"] * 3
    assert {event.args["launch"] for event in ranges} == {0, 1}
    assert all(trace.start_ns <= event.start_ns <= event.end_ns <= trace.end_ns for event in ranges)
    assert len(kg.load(alone)) == 9

"""Processes that die while they record to a mapped file, and files that are damaged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hard_cases import run_program

import kinetograph as kg
from kinetograph.session.recover import recover_directory, recover_file
from recorded import names, notes, recording


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "children", "threads"), [("kill", 150, 1), ("kill", 50, 3), ("_exit", 50, 2), ("exec", 50, 2)]
)
def test_every_scope_that_had_ended_is_recovered(
    tmp_path: Path, how: str, children: int, threads: int
) -> None:
    told = run_program("killed_children", how, children, threads, tmp_path)
    assert told["wrong"] == []
    assert told["children"] == children
    assert told["steps"] > 10 * children


def test_a_second_crash_safe_session_survives_a_kill_as_well(tmp_path: Path) -> None:
    told = run_program("killed_children", "kill", 5, 1, tmp_path, 1)
    assert told["wrong"] == []


def test_a_hundredth_crash_safe_session_survives_a_kill_as_well(tmp_path: Path) -> None:
    told = run_program("killed_children", "kill", 2, 2, tmp_path, 100)
    assert told["wrong"] == []


@pytest.fixture
def session_file(tmp_path: Path) -> Path:
    run_program("leaves_a_session_file", tmp_path / "sessions")
    (file,) = (tmp_path / "sessions").glob("*.kgsession")
    return file


def test_a_recovered_trace_has_threads_lanes_arguments_and_open_scopes(session_file: Path) -> None:
    trace = recover_file(session_file)
    assert names(trace).count("outer") == 400
    assert names(trace).count("task") == 5
    assert [event.args["number"] for event in trace.events if event.name == "outer"][:3] == [0, 1, 2]
    assert [event.value for event in trace.events if event.name == "number"][:3] == [0, 1, 2]
    unfinished = [event for event in trace.events if not event.finished]
    assert [event.name for event in unfinished] == ["open", "open inside"]
    assert unfinished[1].parent == unfinished[0]
    tracks = [track.name for track in trace.tracks]
    assert any(name.endswith("(worker)") for name in tracks)
    assert any(name.endswith("(MainThread)") for name in tracks)
    assert any("lane" in name and "Task-" in name for name in tracks)
    assert "2 scopes were open" in notes(trace, "recovered")[0]
    assert notes(trace, "clock")[0].startswith("times are within ")


def test_recover_writes_a_trace_beside_each_session_file(session_file: Path) -> None:
    run_program("leaves_a_session_file", session_file.parent)
    result = subprocess.run(
        [sys.executable, "-m", "kinetograph", "recover", str(session_file.parent)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    paths = [Path(line) for line in result.stdout.splitlines()]
    assert sorted(paths) == sorted(
        file.with_suffix(".json.gz") for file in session_file.parent.glob("*.kgsession")
    )
    assert len(paths) == 2
    for path in paths:
        trace = kg.load(path)
        assert names(trace).count("outer") == 400
        assert [event.name for event in trace.events if not event.finished] == ["open", "open inside"]


def test_one_damaged_file_does_not_keep_the_others_from_being_recovered(session_file: Path) -> None:
    (session_file.parent / "0-0.kgsession").write_bytes(b"garbage" * 20_000)
    os.mkfifo(session_file.parent / "0-1.kgsession")
    recovering = recover_directory(session_file.parent)
    assert len(kg.load(next(recovering))) > 1000
    with pytest.raises(kg.KinetographError, match=r"0-0.kgsession is not a session file .*; .* is no file"):
        list(recovering)


def test_the_file_of_a_process_that_still_records_is_left_alone_and_readable(tmp_path: Path) -> None:
    with recording(crash_safe=True, directory=tmp_path) as window:
        with kg.scope("ended"):
            pass
        (file,) = tmp_path.glob("*.kgsession")
        with kg.scope("open"):
            seen = recover_file(file)
        kg.mark("goes on")
    assert {event.name: event.finished for event in seen.events} == {"ended": True, "open": False}
    assert names(window.trace) == ["ended", "open", "goes on"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "times"), [("flipped", 300), ("overwritten", 300), ("truncated", 100), ("garbage", 100)]
)
def test_a_damaged_session_file_gives_an_error_or_a_part_and_never_a_crash(
    tmp_path: Path, session_file: Path, how: str, times: int
) -> None:
    told = run_program("damaged_files", how, times, session_file, tmp_path / "damaged.kgsession")
    assert told["traces"] > 0
    for error in told["errors"]:
        assert (
            "is not a session file" in error
            or "too short" in error
            or "has session file version" in error
            or "is damaged" in error
        )


def test_a_file_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(kg.KinetographError, match=r"cannot read .*No such file"):
        recover_file(tmp_path / "none.kgsession")


def test_recovered_events_are_written_as_json_any_tool_reads(session_file: Path) -> None:
    trace = recover_file(session_file)
    path = session_file.with_suffix(".json")
    trace.save(path)
    events = json.loads(path.read_text())["traceEvents"]
    assert sum(event.get("name") == "outer" for event in events) == 400

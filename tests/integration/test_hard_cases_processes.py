"""Fork, exec and the end of the interpreter, all while recording."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hard_cases import PROGRAMS, run_program

import kinetograph as kg
from recorded import names


@pytest.mark.parametrize("how", ["os.fork", "multiprocessing"])
@pytest.mark.parametrize("kind", ["plain", "crash_safe", "spilled"])
def test_a_forked_child_starts_clean_and_the_parent_keeps_its_data(
    tmp_path: Path, how: str, kind: str
) -> None:
    options = {
        "plain": {},
        "crash_safe": {"crash_safe": True, "directory": str(tmp_path / "sessions")},
        "spilled": {"memory_limit_bytes": 1 << 20, "directory": str(tmp_path)},
    }[kind]
    told = run_program("fork_while_recording", how, tmp_path, json.dumps(options))
    child = told["child"]
    assert told["status"] == 0
    assert (child["recording"], child["sessions"], child["threads"]) == (False, [], 0)
    assert (child["inherited_runs"], child["enabled"]) == (False, False)
    assert "a forked child starts without sessions" in child["stop"]
    assert "no session runs" in child["disable"]
    assert child["own"] == ["child", "child thread", "inside"]
    assert child["own_pid"]
    assert told["parent"] == [["open across the fork", True], ["before", True], ["after", True]]
    assert told["parent_low_level"] == ["open across the fork", "before", "after"]
    assert told["losses"] == []


def test_no_fork_hangs_or_inherits_while_threads_record_and_sessions_come_and_go() -> None:
    told = run_program("fork_with_threads", 100)
    assert told == {"failed": [], "children": 100}


def test_a_session_imports_nothing_that_forks_do_not_wait_for() -> None:
    """A child that is forked in the middle of an import would wait for that for ever."""
    program = (
        "import sys, numpy, kinetograph as kg\n"
        "from kinetograph.session import scopes\n"
        "kg.enable_profiler, kg.disable_profiler, scopes.load_python_side()\n"
        "before = set(sys.modules)\n"
        "kg.enable_profiler()\n"
        "kg.disable_profiler()\n"
        "print(sorted(set(sys.modules) - before))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stderr, done.stdout) == ("", "[]\n")


def test_exec_ends_the_session_and_the_new_program_records_its_own(tmp_path: Path) -> None:
    told = run_program("exec_while_recording")
    assert told == {"recording": False, "sessions": [], "own": ["after exec"]}
    assert not Path("never-written.json").exists()


def end(how: str, *args: object) -> subprocess.CompletedProcess[str]:
    program = str(PROGRAMS / "ends_while_recording.py")
    return subprocess.run(
        [sys.executable, program, how, *map(str, args)], capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ("the last line", 0),
        ("sys.exit", 3),
        ("exception", 1),
        ("interrupt", None),
        ("atexit", 0),
        ("thread", 0),
    ],
)
def test_a_program_that_ends_while_recording_writes_its_trace(
    tmp_path: Path, how: str, status: int | None
) -> None:
    path = tmp_path / "trace.json"
    result = end(how, path)
    assert result.returncode in ({1, -2} if status is None else {status}), result.stderr
    trace = kg.load(path)
    here = [event for event in trace.events if event.name != "thread"]
    assert [event.name for event in here] == ["finished", "inside", "still open"]
    assert ("thread" in names(trace)) == (how == "thread")
    assert [file.name for file in tmp_path.iterdir()] == ["trace.json"]


def test_a_scope_open_at_the_end_is_marked_unfinished_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    end("the last line", path)
    finished = {event.name: event.finished for event in kg.load(path).events}
    assert finished == {"finished": True, "inside": True, "still open": False}


@pytest.mark.parametrize("how", ["daemon", "daemon sessions"])
def test_daemon_threads_that_record_do_not_disturb_the_end(tmp_path: Path, how: str) -> None:
    for attempt in range(10):
        path = tmp_path / f"{attempt}.json"
        result = end(how, path)
        assert (result.returncode, result.stderr) == (0, "")
        assert {"finished", "inside", "still open", "daemon"} <= set(names(kg.load(path)))


@pytest.mark.parametrize("how", ["the last line", "sys.exit", "exception", "daemon", "thread", "os._exit"])
def test_without_a_path_nothing_is_written_and_nothing_crashes(tmp_path: Path, how: str) -> None:
    program = str(PROGRAMS / "ends_while_recording.py")
    result = subprocess.run(
        [sys.executable, program, how], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert result.returncode == {"sys.exit": 3, "exception": 1}.get(how, 0), result.stderr
    assert "kinetograph" not in result.stderr.replace("kinetograph/tests", "")
    assert list(tmp_path.iterdir()) == []


def test_a_session_that_was_stopped_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    assert end("twice", path).returncode == 0
    assert sorted(names(kg.load(path))) == ["finished", "inside", "still open"]


def test_a_path_that_cannot_be_written_is_told_and_the_exit_status_stays(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    result = end("bad path", tmp_path / "gone" / "trace.json")
    assert result.returncode == 0
    assert "kinetograph: the trace of process" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(sys.version_info < (3, 12), reason="older Pythons do not warn about fork with threads")
def test_fork_after_a_session_gives_no_warning_about_threads() -> None:
    told = run_program("fork_after_session", PYTHONWARNINGS="error::DeprecationWarning")
    assert told == {"threads": 1, "child": 0}


def test_a_subinterpreter_is_refused_and_the_main_one_goes_on() -> None:
    assert run_program("subinterpreter")["events"] == ["before", "after"]


def test_a_fork_inside_the_text_of_an_argument_leaves_both_processes_whole() -> None:
    told = run_program("fork_in_hook")
    assert told == {"child": 0, "events": [["parent", {"value": "forked"}]]}

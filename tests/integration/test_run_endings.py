"""However a program ends, what it recorded is in the trace, and its caller sees it end that way."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hard_cases import wait_until
from runs import PROGRAMS, command, notes, python, recorded, scopes

import kinetograph as kg

ENDS = PROGRAMS / "ends.py"


def started(
    *program: object, trace: Path, options: tuple[object, ...] = (), **more: object
) -> subprocess.Popen[str]:
    """Runs when this returns: the program has said so."""
    argv = command(*program, options=("-o", trace, *options))
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)  # type: ignore[call-overload]
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process  # type: ignore[no-any-return]


def check_events(path: Path, *, is_open: bool) -> kg.Trace:
    trace = kg.load(path)
    whole, *parts = scopes(trace)
    assert (whole.name, whole.finished) == ("whole", not is_open)
    assert len(parts) == 1000
    assert all(part.name == "part" and part.finished for part in parts)
    assert whole.start_ns <= parts[0].start_ns
    assert parts[-1].end_ns <= whole.end_ns
    return trace


@pytest.mark.parametrize(
    ("how", "is_open"),
    [
        ("nothing", False),
        ("exception", False),
        ("sys.exit", False),
        ("interrupt", False),
        ("os._exit", True),
        ("segmentation fault", True),
        ("SIGTERM", True),
        ("SIGKILL", True),
        ("SIGABRT", True),
        ("SIGHUP", True),
        ("SIGINT", False),
    ],
)
def test_every_ending_leaves_a_whole_trace_and_the_same_status(
    tmp_path: Path, how: str, is_open: bool
) -> None:
    trace = tmp_path / "trace.json"
    assert recorded(trace, ENDS, how) == python(ENDS, how)
    found = check_events(trace, is_open=is_open)
    assert bool(notes(found, "recovered")) == is_open
    if how.startswith("SIG"):
        assert notes(found, "ended")[0].endswith(f"was ended by {how}")
    assert os.listdir(tmp_path) == ["trace.json"]


def test_a_program_that_executes_another_is_one_process_with_both(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    assert recorded(trace, ENDS, "exec") == python(ENDS, "exec")
    found = kg.load(trace)
    wholes = [event for event in scopes(found) if event.name == "whole"]
    assert [event.finished for event in wholes] == [False, True]
    assert len(scopes(found)) == 2002
    assert len(found.processes) == 1


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_killing_the_program_from_outside_ends_the_launcher_by_the_same_signal(
    tmp_path: Path, name: str
) -> None:
    process = started(ENDS, "wait", trace=tmp_path / "trace.json", options=("--session-dir", tmp_path))
    number = getattr(signal, name)
    (file,) = tmp_path.glob("run-*/*.kgsession")
    killed_ns = now_in_trace_of(file)
    os.kill(child_of(process.pid), number)
    process.communicate(timeout=30)
    assert process.returncode == -number
    trace = check_events(tmp_path / "trace.json", is_open=True)
    whole = scopes(trace)[0]
    assert whole.start_ns < killed_ns <= whole.end_ns


def now_in_trace_of(file: Path) -> int:
    """What a trace of this session file would call now: the wall clock may have moved since its begin."""
    wall_offset_ns: int = kg._native.session_file_info(str(file))["wall_offset_ns"]
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) + wall_offset_ns


def child_of(pid: int) -> int:
    """The program; what the launcher has forked for itself goes by its own command line."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    (program,) = (child for child in children if command_line(child) != command_line(pid))
    return int(program)


def command_line(pid: int | str) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def test_a_signal_sent_to_the_launcher_reaches_the_program_once(tmp_path: Path) -> None:
    process = started(PROGRAMS / "handles_signals.py", trace=tmp_path / "trace.json")
    assert process.stdout is not None
    for name in ("SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGQUIT", "SIGRTMIN", "SIGTERM"):
        process.send_signal(getattr(signal, name))
        assert process.stdout.readline() == f"{name}\n"
    assert process.stdout.read() == ""
    assert process.wait(timeout=30) == 7


def test_a_signal_sent_to_the_process_group_reaches_the_program_once(tmp_path: Path) -> None:
    process = started(PROGRAMS / "handles_signals.py", trace=tmp_path / "trace.json", start_new_session=True)
    assert process.stdout is not None
    for name in ("SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGQUIT", "SIGRTMIN", "SIGUSR1"):
        os.killpg(process.pid, getattr(signal, name))
        assert process.stdout.readline() == f"{name}\n"
    process.terminate()
    assert process.stdout.read() == "SIGTERM\n"
    assert process.wait(timeout=30) == 7


def test_a_signal_sent_to_the_launcher_and_at_once_to_its_group_reaches_the_program_once(
    tmp_path: Path,
) -> None:
    """As `timeout` does it."""
    process = started(PROGRAMS / "handles_signals.py", trace=tmp_path / "trace.json", start_new_session=True)
    process.send_signal(signal.SIGUSR1)
    os.killpg(process.pid, signal.SIGUSR1)
    assert process.stdout is not None
    assert process.stdout.readline() == "SIGUSR1\n"
    process.terminate()
    assert process.stdout.read() == "SIGTERM\n"


@pytest.mark.parametrize("to_group", [False, True], ids=["launcher", "group"])
def test_real_time_signals_keep_their_number(tmp_path: Path, to_group: bool) -> None:
    process = started(PROGRAMS / "counts_signals.py", trace=tmp_path / "trace.json", start_new_session=True)
    for _ in range(20):
        (os.killpg if to_group else os.kill)(process.pid, signal.SIGRTMIN + 3)
    process.terminate()
    assert process.communicate(timeout=30)[0] == "20\n"


@pytest.mark.parametrize("what", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_signals_are_passed_on_without_the_witness_too(tmp_path: Path, what: signal.Signals) -> None:
    process = started(PROGRAMS / "handles_signals.py", trace=tmp_path / "trace.json")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    (witness,) = (child for child in children if int(child) != child_of(process.pid))
    os.kill(int(witness), what)
    for name in ("SIGUSR1", "SIGUSR2", "SIGTERM"):
        process.send_signal(getattr(signal, name))
        assert process.stdout is not None
        assert process.stdout.readline() == f"{name}\n"
    process.communicate(timeout=30)
    assert process.returncode == 7


def test_the_launcher_leaves_no_process_behind(tmp_path: Path) -> None:
    process = started(PROGRAMS / "handles_signals.py", trace=tmp_path / "trace.json")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.terminate()
    process.communicate(timeout=30)
    wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in children), "their end")


def test_the_launcher_dies_by_sigterm_when_the_program_does(tmp_path: Path) -> None:
    process = started(ENDS, "wait", trace=tmp_path / "trace.json")
    process.terminate()
    _stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGTERM
    assert str(tmp_path / "trace.json") in stderr
    check_events(tmp_path / "trace.json", is_open=True)


def test_a_launcher_killed_with_sigkill_leaves_the_program_running_and_its_events(tmp_path: Path) -> None:
    process = started(ENDS, "wait", trace=tmp_path / "trace.json", options=("--session-dir", tmp_path))
    program = child_of(process.pid)
    process.kill()
    process.wait()
    os.kill(program, 0)
    os.kill(program, signal.SIGKILL)
    (directory,) = tmp_path.glob("run-*")
    (file,) = directory.glob("*.kgsession")
    wait_until(lambda: not kg._native.session_file_info(str(file))["is_in_use"], "the end of the program")
    done = subprocess.run(
        [sys.executable, "-m", "kinetograph", "recover", str(directory)], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"{directory}/trace.json.gz\n")
    check_events(directory / "trace.json.gz", is_open=True)


class Terminal:
    """A program that has a terminal of its own, as if called in a shell with job control."""

    def __init__(self, argv: list[str]) -> None:
        self.pid, self._descriptor = pty.fork()
        if self.pid == 0:
            os.execv(argv[0], argv)
        self.text = ""

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def read_until(self, what: str | Callable[[], bool], seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while not (what in self.text if isinstance(what, str) else what()):
            assert time.monotonic() < deadline, (what, self.text)
            if select.select([self._descriptor], [], [], 0.05)[0]:
                try:
                    self.text += os.read(self._descriptor, 65536).decode(errors="replace")
                except OSError:  # the last process has closed it
                    return

    def wait(self) -> int:
        self.read_until(lambda: not self._is_open())
        status = os.waitpid(self.pid, 0)[1]
        os.close(self._descriptor)
        return os.waitstatus_to_exitcode(status)

    def _is_open(self) -> bool:
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def test_ctrl_c_interrupts_the_program_and_the_trace_is_still_made(tmp_path: Path) -> None:
    terminal = Terminal(command(ENDS, "wait", options=("-o", tmp_path / "trace.json")))
    terminal.read_until("ready")
    terminal.type("\x03")
    assert terminal.wait() == -signal.SIGINT
    assert terminal.text.count("KeyboardInterrupt") == 1
    check_events(tmp_path / "trace.json", is_open=False)


def test_ctrl_c_reaches_a_program_with_a_handler_once_each_time(tmp_path: Path) -> None:
    terminal = Terminal(command(PROGRAMS / "handles_signals.py", options=("-o", tmp_path / "trace.json")))
    terminal.read_until("ready")
    for count in (1, 2):
        terminal.type("\x03")
        terminal.read_until(lambda count=count: terminal.text.count("SIGINT") == count)
    terminal.type("\x1c")
    terminal.read_until("SIGQUIT")
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.wait() == 7
    assert terminal.text.count("SIGINT") == 2
    assert kg.load(tmp_path / "trace.json") is not None


def test_ctrl_z_stops_the_launcher_with_the_program_and_both_go_on(tmp_path: Path) -> None:
    launcher = command(PROGRAMS / "handles_signals.py", options=("-o", tmp_path / "trace.json"))
    terminal = Terminal([sys.executable, str(PROGRAMS / "job_shell.py"), *launcher])
    terminal.read_until("ready")
    terminal.type("\x1a")
    terminal.read_until("stopped")
    terminal.type("\x03")
    terminal.read_until("SIGINT")
    os.kill(child_of(terminal.pid), signal.SIGTERM)
    assert terminal.wait() == 7
    assert (terminal.text.count("stopped"), terminal.text.count("SIGINT")) == (1, 1)


def test_a_child_that_outlives_the_program_is_in_the_trace_and_said_to_run(tmp_path: Path) -> None:
    stop, trace = tmp_path / "stop", tmp_path / "trace.json"
    argv = command(
        PROGRAMS / "leaves_an_orphan.py",
        stop,
        options=("-o", trace, "--wait", "0", "--session-dir", tmp_path),
    )
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    pid = int(done.stdout)
    assert re.search(rf"still running and recording to .*: {pid}\n", done.stderr)
    found = kg.load(trace)
    assert notes(found, "running") == [f"process {pid} was still running when this trace was made"]
    assert [(event.name, event.finished) for event in scopes(found)] == [("orphan", False)]
    (file,) = tmp_path.glob("run-*/*.kgsession")
    stop.touch()
    wait_until(lambda: not kg._native.session_file_info(str(file))["is_in_use"], "the end of the orphan")


def test_the_launcher_waits_for_a_child_that_ends_soon(tmp_path: Path) -> None:
    stop, trace = tmp_path / "stop", tmp_path / "trace.json"
    argv = command(PROGRAMS / "leaves_an_orphan.py", stop, options=("-o", trace))
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert int(process.stdout.readline())
    stop.touch()
    _stdout, stderr = process.communicate(timeout=30)
    assert "still running" not in stderr
    assert [(event.name, event.finished) for event in scopes(kg.load(trace))] == [("orphan", True)]


LATE = """
import codecs

class Late:
    def __call__(self, error): raise error
    def __del__(self): pass

codecs.register_error("late", Late())  # let go of when the modules are gone
"""


def test_functions_that_run_when_the_interpreter_has_no_modules_any_more_do_no_harm(tmp_path: Path) -> None:
    program = tmp_path / "late.py"
    program.write_text(LATE)
    assert recorded(tmp_path / "trace.json", program) == python(program)

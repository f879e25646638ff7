"""What `kinetograph run` says of its trace is true whatever fails; and it ends as the program did."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from runs import scopes

import kinetograph as kg

PROGRAM = "import sys, kinetograph as kg\nwith kg.scope('whole'): pass\nsys.exit(7)"
# The command, of which one part does something else.
COMMAND = """
import os, shutil, signal, sys
from kinetograph.cli import main, running
from kinetograph.trace import Trace

save = Trace.save
directory = sys.argv[sys.argv.index("--session-dir") + 1]

def fail(*_arguments):
    raise RuntimeError("on purpose")

def lose_all_and_fail(*_arguments):
    shutil.rmtree(directory)
    fail()

def save_and_be_ended(trace, path):
    save(trace, path)
    os.kill(os.getpid(), signal.SIGTERM)

def be_ended(trace, path):
    os.kill(os.getpid(), signal.SIGTERM)

{change}
main()
"""


class Run:
    """One whose command was changed so."""

    def __init__(self, folder: Path, change: str) -> None:
        self.trace, self.sessions = folder / "trace.json", folder / "sessions"
        self.sessions.mkdir()
        options = ["-o", self.trace, "--session-dir", self.sessions, "-c", PROGRAM]
        command = [sys.executable, "-c", COMMAND.format(change=change), "run", *map(str, options)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 7, done.stderr
        self.said = done.stderr

    @property
    def has_trace(self) -> bool:
        return self.trace.exists() and [event.name for event in scopes(kg.load(self.trace))] == ["whole"]

    @property
    def hints_at_recovery(self) -> bool:
        """Checked: it can be recovered."""
        if "kinetograph recover " not in self.said:
            return False
        (directory,) = self.sessions.iterdir()
        assert f"what was recorded is in {directory}: kinetograph recover {directory}\n" in self.said
        recover = [sys.executable, "-m", "kinetograph", "recover", str(directory), "-o", str(self.trace)]
        subprocess.run(recover, check=True, capture_output=True, timeout=60)
        return self.has_trace


def test_a_failure_in_telling_of_the_trace_does_not_deny_it(tmp_path: Path) -> None:
    run = Run(tmp_path, "running.print_top = fail")
    assert f"the trace is in {run.trace}, but not told of, RuntimeError: on purpose\n" in run.said
    assert "was not made" not in run.said
    assert not run.hints_at_recovery
    assert run.has_trace
    assert list(run.sessions.iterdir()) == []


def test_a_trace_that_was_not_saved_can_be_recovered_and_is_said_to_be(tmp_path: Path) -> None:
    run = Run(tmp_path, "Trace.save = fail")
    assert "the trace was not made, RuntimeError: on purpose\n" in run.said
    assert not run.has_trace
    assert run.hints_at_recovery


def test_no_hint_leads_to_files_that_are_gone(tmp_path: Path) -> None:
    run = Run(tmp_path, "Trace.save = lose_all_and_fail")
    assert run.said == "kinetograph: the trace was not made, RuntimeError: on purpose\n"


@pytest.mark.parametrize("is_there_before", [False, True])
def test_a_signal_that_comes_when_the_trace_is_saved_does_not_deny_it(
    tmp_path: Path, is_there_before: bool
) -> None:
    if is_there_before:
        (tmp_path / "trace.json").write_text("of an earlier run")
    run = Run(tmp_path, "Trace.save = save_and_be_ended")
    assert f"the trace of 1 process is in {run.trace}\n" in run.said
    assert "was not made" not in run.said
    assert run.has_trace
    assert list(run.sessions.iterdir()) == []


def test_a_signal_that_comes_before_the_trace_is_saved_leaves_what_was_recorded(tmp_path: Path) -> None:
    run = Run(tmp_path, "Trace.save = be_ended")
    assert "the trace was not made, for SIGTERM came\n" in run.said
    assert run.hints_at_recovery

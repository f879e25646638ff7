"""Which processes of a run are waited for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.integration.hard_cases import wait_until

from kinetograph.run import waiting
from kinetograph.run.directory import VARIABLE, RunDirectory
from kinetograph.run.processes import Member, members
from kinetograph.run.waiting import silent_processes, starting_processes, wait_until_ended


@contextmanager
def process_with(variable: str) -> Iterator[int]:
    """A Python that records nothing, and runs until the block ends."""
    code = "import sys; print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-S", "-c", code]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    environment = os.environ | {VARIABLE: variable}
    with subprocess.Popen(command, env=environment, **pipes) as process:  # type: ignore[call-overload]
        process.stdout.readline()
        yield process.pid
        process.stdin.close()


def test_members_are_those_that_carry_the_variable_of_the_run_or_of_one_inside_it(tmp_path: Path) -> None:
    run = RunDirectory(str(tmp_path))
    with process_with(run.path) as own, process_with(run.path + "/run-1") as inner:
        with process_with(run.path + "-2"):
            found = {member.pid: member for member in members(run)}
        assert set(found) == {own, inner}
        assert found[own].is_python
        assert 0 <= found[own].age_seconds < 600


def test_one_that_records_or_has_said_why_not_is_neither_starting_nor_silent(tmp_path: Path) -> None:
    run = RunDirectory(str(tmp_path))
    with process_with(run.path) as pid:
        assert [process.pid for process in silent_processes(run, set())] == [pid]
        assert silent_processes(run, {pid}) == starting_processes(run, {pid}) == []
        (tmp_path / f"{pid}.not-recorded").write_text("a reason")
        assert silent_processes(run, set()) == starting_processes(run, set()) == []


def test_one_that_is_only_being_executed_is_starting(tmp_path: Path) -> None:
    """As soon as Popen returns: mostly its variables cannot be seen by then."""
    run = RunDirectory(str(tmp_path))
    for _ in range(20):
        with program_that_waits(os.environ | {VARIABLE: run.path}) as pid:
            assert pid in {process.pid for process in starting_processes(run, set())}


def test_one_without_variables_has_started_when_it_waits(tmp_path: Path) -> None:
    run = RunDirectory(str(tmp_path))
    with program_that_waits({}) as pid:
        wait_until(
            lambda: pid not in {process.pid for process in starting_processes(run, set())}, "it to wait"
        )


@contextmanager
def program_that_waits(environment: dict[str, str]) -> Iterator[int]:
    command = [sys.executable, "-S", "-c", "input()"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE) as process:
        try:
            yield process.pid
        finally:
            process.communicate(b"\n")


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        (Member(1, "python3.11", 1.0, is_busy=False), True),
        (Member(1, "python3.11", 9.0, is_busy=False), False),
        (Member(1, "python3.11", 9.0, is_busy=True), True),
        (Member(1, "sh", 0.5, is_busy=False), True),
        (Member(1, "sh", 2.0, is_busy=True), False),
    ],
)
def test_what_is_young_or_busy_may_still_be_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, member: Member, expected: bool
) -> None:
    monkeypatch.setattr(waiting, "members", lambda _run, **_options: [member])
    assert bool(starting_processes(RunDirectory(str(tmp_path)), set())) == expected


def test_the_wait_is_over_when_its_time_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(waiting, "members", lambda _run, **_options: [Member(7, "python", 0.0, is_busy=True)])
    wait_until_ended(RunDirectory(str(tmp_path)), 0.05, told.append)
    assert set(told) == {"waiting for 1 process still running (7); Ctrl-C to go on"}

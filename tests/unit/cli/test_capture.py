"""`kinetograph capture` says what cannot be before anything is recorded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kinetograph import cli
from kinetograph.ondemand import processes
from kinetograph.ondemand.processes import AgentProcess


def capture(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, ["capture", *arguments])


@pytest.mark.parametrize(
    "arguments",
    [("--all",), ("--all", "--hosts", "a", "--steps", "3"), ("--all", "--hosts", "a", "--ring")],
    ids=["one host", "steps", "a ring"],
)
def test_a_common_start_that_nobody_would_keep_is_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    result = capture(*arguments, "--start-in", "2s", "-o", str(tmp_path))
    assert result.exit_code == 1
    assert "--start-in is for a time that is common to many hosts" in result.stderr


def test_a_directory_that_cannot_be_written_to_is_told_of_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Neither a process nor a user without rights is needed for it.
    monkeypatch.setattr(processes, "processes", lambda tell: [AgentProcess("", 1, state="idle")])
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    result = capture("--all", "-o", str(tmp_path))
    assert result.exit_code == 1
    assert f"cannot write to {tmp_path}" in result.stderr


def test_steps_of_a_ring_are_refused(tmp_path: Path) -> None:
    result = capture("--all", "--ring", "--steps", "3", "-o", str(tmp_path))
    assert result.exit_code == 1
    assert "ring_dump and steps exclude each other" in result.stderr

"""Session files of a run while it lasts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kinetograph.run.collect import Reading, Trimmer, merge_session_files, session_files
from kinetograph.run.directory import RunDirectory
from recorded import start

LEAVES_A_FILE = (
    "import os, sys, kinetograph as kg\n"
    "options = kg.RecordOptions(crash_safe=True, directory=sys.argv[1])\n"
    "kg.enable_profiler(kg.ProfilerConfig(recording=options))\n"
    "kg.mark('here')\n"
    "os._exit(0)\n"
)


def used_bytes(path: str) -> int:
    return os.stat(path).st_blocks * 512


def test_space_that_an_ended_process_did_not_use_is_given_back_and_that_of_others_is_not(
    tmp_path: Path,
) -> None:
    subprocess.run([sys.executable, "-c", LEAVES_A_FILE, str(tmp_path)], check=True)
    session = start(crash_safe=True, directory=str(tmp_path))
    directory = RunDirectory(str(tmp_path))
    files, unreadable = session_files(directory.session_files())
    before = {file.pid: used_bytes(file.path) for file in files}
    trimmer = Trimmer(directory)
    trimmer.trim()
    trimmer.trim()
    after = {file.pid: used_bytes(file.path) for file in files}
    session.stop()
    assert [file.is_in_use for file in files] == [False, True]
    assert not unreadable
    assert after[files[0].pid] < before[files[0].pid] / 4
    assert after[os.getpid()] >= before[os.getpid()]


def test_a_file_without_a_header_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "1-2.kgsession").touch()
    files, unreadable = session_files(RunDirectory(str(tmp_path)).session_files())
    Trimmer(RunDirectory(str(tmp_path))).trim()
    assert not files
    assert "too short" in unreadable[0].reason


@pytest.mark.parametrize("memory_limit_bytes", [1 << 30, 512], ids=["in memory", "in files"])
def test_many_processes_become_one_trace_wherever_it_is_kept(tmp_path: Path, memory_limit_bytes: int) -> None:
    for _ in range(3):
        subprocess.run([sys.executable, "-c", LEAVES_A_FILE, str(tmp_path)], check=True)
    files, _unreadable = session_files(RunDirectory(str(tmp_path)).session_files())
    before = {file.path: used_bytes(file.path) for file in files}
    trace = merge_session_files(files, lambda _text: None, Reading(memory_limit_bytes))
    assert [event.name for event in trace.events] == ["here"] * 3
    assert [process.pid for process in trace.processes] == [file.pid for file in files]
    # Reading changes nothing: giving space back takes longer than reading.
    assert {file.path: used_bytes(file.path) for file in files} == before

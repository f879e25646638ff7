"""The end of the interpreter while a session with a path runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import kinetograph as kg

BEGIN = """
import atexit, os, shutil
import kinetograph as kg

def record(path):
    kg.enable_profiler(kg.ProfilerConfig(recording=kg.RecordOptions(path=path)))
    kg.mark("recorded")
"""


def stderr_of(program: str, folder: Path) -> str:
    (folder / "temporary").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + program],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={"TMPDIR": str(folder / "temporary")},
    )
    return done.stderr


def names(path: Path) -> list[str]:
    return [event.name for event in kg.load(path).events]


def test_a_trace_whose_folder_has_gone_is_kept_among_the_temporary_files(tmp_path: Path) -> None:
    program = "os.mkdir('gone'); record('gone/trace.json'); shutil.rmtree('gone')"
    told = stderr_of(program, tmp_path)
    (kept,) = (tmp_path / "temporary").glob("*.json.gz")
    assert "was not written to" in told
    assert f"is in {kept}" in told
    assert names(kept) == ["recorded"]


def test_a_trace_that_can_be_written_nowhere_is_told_to_be_lost(tmp_path: Path) -> None:
    program = (
        "os.mkdir('gone'); record('gone/trace.json'); shutil.rmtree('gone'); shutil.rmtree('temporary');"
    )
    program += "import tempfile; tempfile.tempdir = os.environ['TMPDIR']"
    told = stderr_of(program, tmp_path)
    assert "is lost" in told
    assert "Traceback" not in told


def test_a_relative_path_holds_when_the_program_changes_directory(tmp_path: Path) -> None:
    assert stderr_of("record('trace.json'); os.chdir('temporary')", tmp_path) == ""
    assert names(tmp_path / "trace.json") == ["recorded"]


def test_a_session_that_a_function_at_exit_starts_is_written(tmp_path: Path) -> None:
    assert stderr_of("atexit.register(record, 'trace.json')", tmp_path) == ""
    assert names(tmp_path / "trace.json") == ["recorded"]


def test_a_session_that_starts_too_late_to_be_written_is_told(tmp_path: Path) -> None:
    early = "import atexit; atexit.register(lambda: record('trace.json'))"
    done = subprocess.run(
        [sys.executable, "-c", early + BEGIN], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert "will not be written" in done.stderr


def test_sessions_of_one_path_are_written_beside_one_another(tmp_path: Path) -> None:
    told = stderr_of("record('trace.json.gz'); record('trace.json.gz'); kg.mark('second')", tmp_path)
    assert f"is in {tmp_path / 'trace-2.json.gz'}: another session was given the same path" in told
    written = [names(tmp_path / "trace.json.gz"), names(tmp_path / "trace-2.json.gz")]
    assert sorted(written) == [["recorded", "recorded", "second"], ["recorded", "second"]]

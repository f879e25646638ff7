"""`kinetograph recover` prints the traces it could build."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import kinetograph as kg
from kinetograph import cli
from kinetograph.session import recover as recovery


def test_the_traces_that_were_built_are_printed_one_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = [tmp_path / "1.json.gz", tmp_path / "2.json.gz"]
    monkeypatch.setattr(
        recovery, "recover_directory", lambda folder, tell: built if folder == tmp_path else []
    )
    result = CliRunner().invoke(cli.main, ["recover", str(tmp_path)])
    assert (result.exit_code, result.stdout) == (0, f"{built[0]}\n{built[1]}\n")


def test_a_folder_without_session_files_is_an_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli.main, ["recover", str(tmp_path)])
    assert result.exit_code == 1
    assert result.stderr.startswith("kinetograph: ")


def test_of_a_process_that_still_runs_it_is_what_was_recorded_so_far(tmp_path: Path) -> None:
    code = (
        "import sys, kinetograph as kg\n"
        "options = kg.RecordOptions(crash_safe=True, directory=sys.argv[1])\n"
        "kg.enable_profiler(kg.ProfilerConfig(recording=options))\n"
        "with kg.scope('work'): print('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        "with kg.scope('more'): pass\n"
        "print(len(kg.disable_profiler().trace), flush=True)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as living:
        assert living.stdout is not None
        assert living.stdout.readline() == "ready\n"
        result = CliRunner().invoke(cli.main, ["recover", str(tmp_path)])
        assert (
            result.stderr == f"process {living.pid} is still running: this is what it had recorded so far\n"
        )
        assert "work" in [event.name for event in kg.load(result.stdout.strip()).events]
        assert living.communicate("\n")[0] == "2\n"


@pytest.mark.parametrize("options", [(), ("-o", "whole.json")])
def test_a_pipe_among_the_session_files_is_not_waited_for(tmp_path: Path, options: tuple[str, ...]) -> None:
    os.mkfifo(tmp_path / "pipe.kgsession")
    arguments = [sys.executable, "-m", "kinetograph", "recover", str(tmp_path), *options]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert "is no file" in done.stderr


def test_with_an_output_all_processes_become_one_trace(tmp_path: Path) -> None:
    code = (
        "import os, sys, kinetograph as kg\n"
        "options = kg.RecordOptions(crash_safe=True, directory=sys.argv[1])\n"
        "kg.enable_profiler(kg.ProfilerConfig(recording=options))\n"
        "with kg.scope('work'): pass\n"
        "os._exit(0)\n"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    output = tmp_path / "both.json"
    result = CliRunner().invoke(cli.main, ["recover", str(tmp_path), "-o", str(output)])
    assert (result.exit_code, result.stdout) == (0, f"{output}\n")
    trace = kg.load(output)
    assert [event.name for event in trace.events] == ["work", "work"]
    assert len(trace.processes) == 2
    assert len(list(tmp_path.glob("*.kgsession"))) == 2

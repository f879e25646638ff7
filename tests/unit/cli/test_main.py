"""The command as a whole: help, version, errors and exit statuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kinetograph import cli
from kinetograph.cli.activities import ACTIVITIES
from sample_traces import gpu_trace, trace_of


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kinetograph", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_help_lists_every_verb_with_examples() -> None:
    result = CliRunner().invoke(cli.main, ["--help"])
    assert result.exit_code == 0
    assert "Examples:" in result.output
    for name, verb in cli.VERBS.items():
        assert f"\n  {name} " in result.output
        assert verb.summary.split()[0] in result.output


@pytest.mark.parametrize("name", cli.VERBS)
def test_every_verb_exists_under_its_name_and_has_help(name: str) -> None:
    result = CliRunner().invoke(cli.main, [name, "--help"])
    assert result.exit_code == 0
    assert f"Usage: main {name}" in result.output


def test_help_imports_no_verb_and_nothing_heavy() -> None:
    program = (
        "import sys; from click.testing import CliRunner; from kinetograph import cli;"
        "CliRunner().invoke(cli.main, ['--help']);"
        "unwanted = {'numpy', 'rich', 'kinetograph.cli.demo', 'kinetograph.cli.summary'};"
        "print(sorted(unwanted & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_version_is_the_packages() -> None:
    from importlib.metadata import version

    result = CliRunner().invoke(cli.main, ["--version"])
    assert (result.exit_code, result.output) == (0, f"kinetograph {version('kinetograph')}\n")


@pytest.mark.parametrize("arguments", [["nonsense"], ["summary"], ["recover", "/no/such/folder"], ["--what"]])
def test_wrong_use_exits_with_two(arguments: list[str]) -> None:
    assert CliRunner().invoke(cli.main, arguments).exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["summary", ""],
        ["convert", "", "b.json"],
        ["convert", "a.json", ""],
        ["demo", "-o", ""],
        ["run", "-o", "", "-c", "open('has run', 'w')"],
        ["recover", ".", "-o", ""],
        ["merge", ".", "-o", ""],
        ["capture", "--all", "-o", ""],
    ],
    ids=" ".join,
)
def test_an_empty_name_is_taken_neither_for_the_current_folder_nor_for_none(arguments: list[str]) -> None:
    result = CliRunner().invoke(cli.main, arguments)
    assert result.exit_code == 2
    assert "the name is empty" in result.stderr


@pytest.mark.parametrize("verb", ["run", "capture"])
def test_an_activity_that_nobody_knows_is_wrong_use_and_told_as_it_was_written(
    verb: str, tmp_path: Path
) -> None:
    more = {"run": ["-c", "open('has run', 'w')"], "capture": ["--all", "-o", str(tmp_path / "traces")]}
    result = CliRunner().invoke(cli.main, [verb, "--activities", "cpu,gpu", *more[verb]])
    assert result.exit_code == 2
    assert "'--activities': expected some of cpu, xpu, cuda," in result.stderr
    assert "got 'gpu'" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_activities_are_taken_in_letters_of_any_size() -> None:
    assert ACTIVITIES.convert("cpu, Cuda", None, None) == ("CPU", "CUDA")


def test_an_error_of_ours_goes_to_stderr_without_a_traceback(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"traceEvents": [')
    result = run_command("summary", str(broken))
    assert result.returncode == 1
    assert result.stderr.startswith("kinetograph: ")
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("verb", ["doctor", "--help"])
def test_a_reader_that_stops_early_is_no_error_of_ours(verb: str) -> None:
    command = [sys.executable, "-m", "kinetograph", verb]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == ""


def run_in_shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    gpu_trace().save(folder / "trace.json.gz")
    command = line.replace("kinetograph", f"{sys.executable} -m kinetograph")
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )


def test_a_closed_stdout_is_no_error(tmp_path: Path) -> None:
    done = run_in_shell("kinetograph summary trace.json.gz >&-", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_behind_stdout_is_told_in_one_line(tmp_path: Path) -> None:
    done = run_in_shell("kinetograph summary trace.json.gz > /dev/full", tmp_path)
    assert done.returncode == 1
    assert done.stderr == "kinetograph: cannot write to stdout: No space left on device\n"


def test_a_reader_that_leaves_early_is_no_error_worth_a_traceback(tmp_path: Path) -> None:
    done = run_in_shell("kinetograph summary trace.json.gz | true", tmp_path)
    assert done.stderr == ""


def test_a_dash_is_stdin(tmp_path: Path) -> None:
    done = run_in_shell("cat trace.json.gz | kinetograph summary -", tmp_path)
    assert "3 spans on 2 tracks" in done.stdout
    assert run_in_shell("kinetograph convert - b.json < trace.json.gz", tmp_path).returncode == 0
    assert (tmp_path / "b.json").exists()


def test_an_ascii_terminal_gets_a_table_too(tmp_path: Path) -> None:
    trace_of(("\xe9" * 50, 0, 5)).save(tmp_path / "letters.json")
    ascii_only = "LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0"
    line = f"{ascii_only} script -qec 'stty cols 60; kinetograph summary letters.json' /dev/null"
    done = run_in_shell(f"command -v script > /dev/null || exit 77; {line}", tmp_path)
    if done.returncode == 77:
        pytest.skip("there is no script command to give us a terminal")
    assert "Traceback" not in done.stdout
    assert "\\xe9" in done.stdout


@pytest.mark.parametrize("arguments", ["--help", "--version"])
def test_help_that_cannot_be_printed_is_told_in_one_line(arguments: str, tmp_path: Path) -> None:
    done = run_in_shell(f"kinetograph {arguments} > /dev/full", tmp_path)
    assert done.returncode == 1
    assert done.stderr == "kinetograph: cannot write to stdout: No space left on device\n"


def test_letters_that_stdout_does_not_know_are_spelled_out(tmp_path: Path) -> None:
    trace_of(("snow \u2603", 0, 5)).save(tmp_path / "snow.json")
    done = run_in_shell("PYTHONIOENCODING=latin-1 kinetograph summary snow.json", tmp_path)
    assert done.returncode == 0
    assert "snow \\u2603" in done.stdout

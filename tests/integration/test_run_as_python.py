"""A program sees and does under `kinetograph run` what it sees and does under `python`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from runs import PROGRAMS, command, python, recorded, with_variables

import kinetograph as kg

LOOKS_AROUND = PROGRAMS / "looks_around.py"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return tmp_path / "trace.json.gz"


@pytest.mark.parametrize(
    "arguments", [[], ["3", "-o", "--quiet", "two words", "--", "-m"]], ids=["none", "some"]
)
def test_a_script_sees_the_same(trace: Path, arguments: list[str]) -> None:
    program = [LOOKS_AROUND, *arguments]
    assert recorded(trace, *program, input=b"for you") == python(*program, input=b"for you")
    assert kg.load(trace).processes


def test_the_calls_are_those_of_the_program_not_of_its_start_nor_of_its_end(
    trace: Path, tmp_path: Path
) -> None:
    program = tmp_path / "short.py"
    program.write_text("def work():\n    return sum(range(10))\n\nwork()\n")
    assert recorded(trace, program).returncode == 0
    events = kg.load(trace).events
    names = [event.name for event in events]
    assert any(name.endswith("short.py(1): work") for name in names)
    assert not [event.name for event in events if event.start_ns == kg.load(trace).start_ns]
    # So short a program has no full collection before its end.
    assert not [event for event in events if event.name == "Python GC" and event.args["generation"] == 2]


def test_a_script_named_by_a_relative_path_sees_the_same(trace: Path) -> None:
    assert recorded(trace, "looks_around.py", cwd=PROGRAMS) == python("looks_around.py", cwd=PROGRAMS)


def test_a_module_sees_the_same(trace: Path) -> None:
    module = ["-m", "looks_around", "2", "-m"]
    assert recorded(trace, *module, cwd=PROGRAMS) == python(*module, cwd=PROGRAMS)


@pytest.mark.parametrize(
    "program",
    [
        ["-mlooks_around", "2", "-m"],
        ["-c", "import sys; print(sys.argv, __name__, sys.path[0])", "-o", "--top", "--", "-m"],
        ["-cimport sys; print(sys.argv, __name__, sys.path[0])", "-c"],
    ],
    ids=["module attached", "code", "code attached"],
)
def test_a_program_given_in_the_other_ways_of_python_sees_the_same(trace: Path, program: list[str]) -> None:
    assert recorded(trace, *program, cwd=PROGRAMS) == python(*program, cwd=PROGRAMS)
    assert kg.load(trace).processes


def test_a_relative_session_directory_is_found_from_wherever_the_program_goes(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    code = "import os, subprocess, sys; os.chdir('/'); subprocess.run([sys.executable, '-c', ''])"
    options = ("--session-dir", "kept")
    assert recorded(tmp_path / "trace.json", "-c", code, options=options, cwd=tmp_path).returncode == 0
    assert len(kg.load(tmp_path / "trace.json").processes) == 2
    assert list((tmp_path / "kept").iterdir()) == []


@pytest.mark.parametrize("form", ["package", "folder", "zip"])
def test_packages_folders_and_archives_run_by_their_main(trace: Path, tmp_path: Path, form: str) -> None:
    folder = tmp_path / "packaged"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "__main__.py").write_bytes(LOOKS_AROUND.read_bytes())
    if form == "zip":
        import shutil

        shutil.make_archive(str(folder), "zip", folder)
    program = {"package": ["-m", "packaged"], "folder": ["packaged"], "zip": ["packaged.zip"]}[form]
    assert recorded(trace, *program, cwd=tmp_path) == python(*program, cwd=tmp_path)


def test_a_program_from_standard_input_sees_the_same(trace: Path) -> None:
    program = b"import sys; print(sys.argv, __name__, sys.path[0] == '')"
    assert recorded(trace, "-", "a", input=program) == python("-", "a", input=program)


@pytest.mark.parametrize("program", [["no_such_file.py"], ["-m", "no_such_module"]], ids=["file", "module"])
def test_a_program_that_is_not_there_fails_the_same_way(
    trace: Path, tmp_path: Path, program: list[str]
) -> None:
    assert recorded(trace, *program, cwd=tmp_path) == python(*program, cwd=tmp_path)


@pytest.mark.parametrize(
    "how", ["exception", "chained exception", "sys.exit", "sys.exit text", "os._exit", "interrupt", "nothing"]
)
def test_tracebacks_and_exit_codes_are_the_same_byte_for_byte(trace: Path, how: str) -> None:
    ends = PROGRAMS / "ends.py"
    assert recorded(trace, ends, how) == python(ends, how)


def test_a_syntax_error_is_told_the_same_way(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("print(1\n")
    assert recorded(trace, "wrong.py", cwd=tmp_path) == python("wrong.py", cwd=tmp_path)


@pytest.mark.parametrize(
    "flags", [["-X", "dev", "-OO"], ["-u", "-W", "error", "-B"], ["-E", "-s", "-P"], ["-I"]]
)
def test_flags_of_the_running_python_apply(trace: Path, flags: list[str]) -> None:
    with_us = [sys.executable, *flags, "-m", "kinetograph", "run", "-q", "-o", str(trace), str(LOOKS_AROUND)]
    done = subprocess.run(with_us, capture_output=True, stdin=subprocess.DEVNULL)
    assert (done.stdout, done.stderr, done.returncode) == python(*flags, LOOKS_AROUND)
    assert kg.load(trace).processes


@pytest.mark.parametrize("variables", [{"PYTHONSAFEPATH": "1"}, {"PYTHONUTF8": "0", "LC_ALL": "C"}])
def test_variables_of_python_apply(trace: Path, variables: dict[str, str]) -> None:
    environment = with_variables(**variables)
    assert recorded(trace, LOOKS_AROUND, env=environment) == python(LOOKS_AROUND, env=environment)


def test_signals_that_were_ignored_stay_ignored(trace: Path) -> None:
    shell = "trap '' HUP INT; exec \"$@\""
    with_us = ["sh", "-c", shell, "sh", *command(LOOKS_AROUND, options=("-q", "-o", trace))]
    without = ["sh", "-c", shell, "sh", sys.executable, str(LOOKS_AROUND)]
    told = [
        subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL) for argv in (with_us, without)
    ]
    assert told[0].stdout == told[1].stdout
    handlers = json.loads(told[0].stdout[: told[0].stdout.rindex(b"}") + 1])["handlers"]
    assert "SIG_IGN" in handlers["1"]
    assert "SIG_IGN" in handlers["2"]


def test_nothing_is_written_to_stdout_and_the_report_goes_to_stderr(trace: Path) -> None:
    done = subprocess.run(
        command(PROGRAMS / "ends.py", "nothing", options=("-o", trace)), capture_output=True
    )
    assert (done.stdout, done.returncode) == (b"", 0)
    assert str(trace) in done.stderr.decode()
    assert "part" in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_without_site_packages_the_program_is_not_started_and_why_is_told(trace: Path) -> None:
    launcher = f"import sys; sys.path[:] = {sys.path!r}; from kinetograph.cli import main; main()"
    argv = [sys.executable, "-S", "-c", launcher, "run", "-o", str(trace), str(LOOKS_AROUND)]
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (1, "")
    assert "-S" in done.stderr


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["-o", "trace.xml"], "expected a path that ends in"),
        (["-o", "nowhere/trace.json"], "there is no folder"),
        (["-o", "{job}.json"], "{job}"),
        (["--activities", "cpu,gramophone"], "got 'gramophone'"),
        (["--memory-limit", "much"], "512M"),
    ],
)
def test_wrong_options_are_told_before_the_program_starts(
    tmp_path: Path, options: list[str], expected: str
) -> None:
    done = subprocess.run(
        command(LOOKS_AROUND, options=tuple(options)), capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.stdout, done.returncode) in [("", 1), ("", 2)]
    assert expected in done.stderr


@pytest.mark.parametrize("form", ["script", "module"])
def test_samples_name_the_program_as_calls_do(tmp_path: Path, form: str) -> None:
    (tmp_path / "app.py").write_text(
        "import time\n"
        "def busy():\n"
        "    end = time.monotonic() + 1\n"
        "    while time.monotonic() < end: pass\n"
        "busy()\n"
    )
    program = ["app.py"] if form == "script" else ["-m", "app"]
    recorded(tmp_path / "trace.json", *program, options=("--sample", 500), cwd=tmp_path)
    assert {"app.py(1): <module>", "app.py(2): busy"} <= set(kg.load(tmp_path / "trace.json").names)


def test_without_a_stderr_stdout_is_still_the_programs_own(trace: Path, tmp_path: Path) -> None:
    program = tmp_path / "prints.py"
    program.write_text("print('mine')\n")
    without_stderr = ["sh", "-c", 'exec "$@" 2>&-', "sh"]
    arguments = [*without_stderr, *command(program, options=("-o", trace))]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"mine\n"
    assert kg.load(trace).processes

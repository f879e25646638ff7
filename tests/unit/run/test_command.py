"""What of a command line belongs to Python and what to the program."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kinetograph.run.command import program_folder, python_command, split_interpreter_arguments


@pytest.mark.parametrize(
    ("arguments", "flags", "program"),
    [
        (["app.py", "-v"], [], ["app.py", "-v"]),
        (["-X", "dev", "-uB", "app.py"], ["-X", "dev", "-uB"], ["app.py"]),
        (["-Xdev", "-W", "error", "-"], ["-Xdev", "-W", "error"], ["-"]),
        (["-B", "-m", "pytest", "-x"], ["-B"], ["-m", "pytest", "-x"]),
        (["-mpytest", "-x"], [], ["-m", "pytest", "-x"]),
        (["-c", "print(1)", "a"], [], ["-c", "print(1)", "a"]),
        (["--check-hash-based-pycs", "always", "app.py"], ["--check-hash-based-pycs", "always"], ["app.py"]),
        (["-B", "--", "app.py"], ["-B"], ["app.py"]),
        ([], [], []),
    ],
)
def test_options_of_python_end_where_the_program_begins(
    arguments: list[str], flags: list[str], program: list[str]
) -> None:
    assert split_interpreter_arguments(arguments) == (flags, program)


@pytest.mark.parametrize(
    ("ours", "flags"),
    [
        (["python", "-I", "-X", "dev", "-m", "kinetograph", "run"], ["-I", "-X", "dev"]),
        (["python", "-sP", "/usr/bin/kinetograph", "run"], []),
        (["python", "-sPu", "-X", "dev", "/usr/bin/kinetograph", "run"], ["-u", "-X", "dev"]),
    ],
    ids=["by hand", "by the script's first line", "both"],
)
def test_the_program_gets_our_flags_but_not_those_that_keep_our_script_apart(
    monkeypatch: pytest.MonkeyPatch, ours: list[str], flags: list[str]
) -> None:
    monkeypatch.setattr(sys, "orig_argv", ours)
    assert python_command(["app.py"]) == [sys.executable, *flags, "app.py"]
    assert python_command(["app"], "-m")[-2:] == ["-m", "app"]


def test_the_folder_of_a_program_is_that_of_its_script_or_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "main.py").touch()
    (tmp_path / "linked.py").symlink_to(tmp_path / "app" / "main.py")
    monkeypatch.chdir(tmp_path)
    scripts = {"app/main.py": "app", "linked.py": "app", "app": "app", "gone.py": "."}
    for script, folder in scripts.items():
        assert program_folder(["python", "-u", script, "x"]) == str((tmp_path / folder).resolve())
    assert program_folder(["python", "-m", "app"]) == str(tmp_path)
    for program in (["-c", "1"], ["-"], []):
        assert program_folder(["python", *program]) is None

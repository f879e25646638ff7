"""The command line of Python: what belongs to the interpreter and what to the program."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Literal

from kinetograph.errors import KinetographError

__all__ = ["program_folder", "python_command", "split_interpreter_arguments"]

_TAKE_A_VALUE = ("-X", "-W", "--check-hash-based-pycs")
_END_OPTIONS = ("-c", "-m")
# What a package manager may have put behind the `#!` of our script, to keep the script apart from the user's
# own files. The program is not the script.
_ISOLATING = frozenset("IEsP")


def split_interpreter_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Options of the interpreter, and from the script, `-m` or `-c` on the rest.

    >>> split_interpreter_arguments(["-X", "dev", "-uB", "app.py", "-v"])
    (['-X', 'dev', '-uB'], ['app.py', '-v'])
    """
    at = 0
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] != "-":
        if arguments[at] == "--":
            return list(arguments[:at]), list(arguments[at + 1 :])
        if arguments[at][:2] in _END_OPTIONS:
            return list(arguments[:at]), [arguments[at][:2], *_attached(arguments[at]), *arguments[at + 1 :]]
        at += 2 if arguments[at] in _TAKE_A_VALUE else 1
    return list(arguments[:at]), list(arguments[at:])


def _attached(option: str) -> list[str]:
    return [option[2:]] if len(option) > 2 else []


def program_folder(orig_argv: Sequence[str]) -> str | None:
    """What Python will put in front of `sys.path` for this command: where the program lies."""
    _flags, program = split_interpreter_arguments(orig_argv[1:])
    if sys.flags.safe_path or not program or program[0] in ("-", "-c"):
        return None
    if program[0] == "-m":
        return os.getcwd()
    script = os.path.realpath(program[0])
    return script if os.path.isdir(script) else os.path.dirname(script)


def python_command(program: Sequence[str], form: Literal["-m", "-c"] | None = None) -> list[str]:
    """This Python with the options it was given, to run a program: a script, a module or code."""
    if not sys.executable:
        raise KinetographError(
            "this Python does not know its own path", hint="call `python -m kinetograph run`"
        )
    flags, ours = split_interpreter_arguments(sys.orig_argv[1:])
    if not ours or ours[0] != "-m":
        flags = [kept for flag in flags if (kept := _without_isolation(flag))]
    return [sys.executable, *flags, *([form] if form else []), *program]


def _without_isolation(flag: str) -> str:
    if flag.startswith("--") or flag[:2] in ("-X", "-W") or not flag.startswith("-"):
        return flag
    letters = "".join(letter for letter in flag[1:] if letter not in _ISOLATING)
    return f"-{letters}" if letters else ""

"""Where the command reads and writes, and by what name it was called."""

from __future__ import annotations

import os
import shutil
import sys
from io import TextIOWrapper
from pathlib import Path

__all__ = ["as_called", "discard_stdout", "spell_out_foreign_letters", "stdin_for_dash"]


def stdin_for_dash(path: Path) -> Path:
    """`-` as other commands understand it."""
    return Path("/dev/stdin") if str(path) == "-" else path


def spell_out_foreign_letters() -> None:
    """Names of events are of any script, and a terminal or file may know only one."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def discard_stdout() -> None:
    """Python writes what is left in its buffer when it ends: into nothing, once stdout has failed."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


def as_called() -> str:
    """What a user types to call this command again."""
    program = Path(sys.argv[0])
    if program.name == "__main__.py":
        return "python -m kinetograph"
    if not program.is_absolute() or shutil.which(program.name) != str(program):
        return sys.argv[0]
    return program.name

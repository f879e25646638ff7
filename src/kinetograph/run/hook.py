"""Whether the Pythons that a program starts will look for a run."""

from __future__ import annotations

import os
import sys

from kinetograph.errors import KinetographError

__all__ = ["require_hook"]

_FILE = "kinetograph.pth"


def require_hook(command: list[str]) -> None:
    """Raise if the Python of this command would run the program and record nothing."""
    from kinetograph.run.command import split_interpreter_arguments

    flags, _program = split_interpreter_arguments(command[1:])
    if any(flag.startswith("-") and "S" in flag and flag[:2] not in ("-X", "-W") for flag in flags):
        raise KinetographError(
            "this Python was started with -S, and then it does not read its site packages",
            hint="start it without -S",
        )
    if not any(os.path.isfile(os.path.join(folder, _FILE)) for folder in sys.path):
        raise KinetographError(
            f"{_FILE} is not in the site packages of {sys.executable}, so programs cannot be recorded",
            hint="install kinetograph there: pip install kinetograph",
        )

"""Which files a request may make: new ones, in directories that this process allows."""

from __future__ import annotations

import os
import time

from kinetograph.checks import path_text
from kinetograph.errors import UsageError
from kinetograph.ondemand.places import captures_directory
from kinetograph.trace.formats import usable_path

__all__ = ["chosen_output"]

_VARIABLE = "KINETOGRAPH_AGENT_DIRECTORIES"


def chosen_output(asked: str, allowed: tuple[str, ...], *, suffix: str = "") -> str:
    """The path to write to. Raises unless it lies in an allowed directory and is not there yet.

    It has the suffix of a trace, or this one.
    """
    if asked:
        path_text("output", asked)
    captures = captures_directory()
    path = os.path.join(captures, asked or f"{os.getpid()}-{time.time_ns()}{suffix or '.json.gz'}")
    # Links are followed in the directory, and there must be none at the file itself.
    path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    roots = [os.path.realpath(folder) for folder in (captures, *allowed, *_allowed_by_environment())]
    if not any(os.path.commonpath([root, path]) == root for root in roots):
        raise UsageError(
            f"output: {asked!r} lies outside of the directories that this process allows",
            hint=f"a name without directory is always allowed; {_VARIABLE} allows others",
        )
    if os.path.lexists(path):
        raise UsageError(f"output: {path} is there already", hint="name another file")
    if not suffix:
        return usable_path("output", path)
    if not path.endswith(suffix):
        raise UsageError(f"output: expected a name that ends in {suffix}, got {asked!r}")
    return path


def _allowed_by_environment() -> list[str]:
    return [folder for folder in os.environ.get(_VARIABLE, "").split(os.pathsep) if os.path.isabs(folder)]

"""Which files a request may make: new ones, in directories that this process allows."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from kinetograph.checks import path_text
from kinetograph.errors import UsageError
from kinetograph.ondemand.places import captures_directory
from kinetograph.trace.formats import usable_path

__all__ = ["chosen_output", "reserved_output"]

_VARIABLE = "KINETOGRAPH_AGENT_DIRECTORIES"


@contextmanager
def reserved_output(asked: str, allowed: tuple[str, ...], *, suffix: str = "") -> Iterator[str]:
    """The path to write to within. A name that was asked for is taken by an empty file until then.

    Without it, a file that somebody makes in the meantime would be overwritten. A name of our own is met
    nowhere else.
    """
    path = chosen_output(asked, allowed, suffix=suffix)
    if not asked:
        yield path
        return
    reservation = _made(path)
    try:
        yield path
    finally:
        with suppress(OSError):
            found = os.lstat(path)
            if os.path.samestat(found, reservation) and not found.st_size:  # nothing was written
                os.unlink(path)


def _made(path: str) -> os.stat_result:
    try:
        with open(path, "x", opener=_only_for_us) as file:
            return os.fstat(file.fileno())
    except FileExistsError:
        raise _is_there(path) from None


def _only_for_us(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _is_there(path: str) -> UsageError:
    return UsageError(f"output: {path} is there already", hint="name another file")


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
        raise _is_there(path)
    if not suffix:
        return usable_path("output", path)
    if not path.endswith(suffix):
        raise UsageError(f"output: expected a name that ends in {suffix}, got {asked!r}")
    return path


def _allowed_by_environment() -> list[str]:
    return [folder for folder in os.environ.get(_VARIABLE, "").split(os.pathsep) if os.path.isabs(folder)]

"""What the tests of `kinetograph run` share: the same program with and without us."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import kinetograph as kg

PROGRAMS = Path(__file__).parent / "programs" / "run"


class Outcome(NamedTuple):
    """What a caller of a program sees."""

    stdout: bytes
    stderr: bytes
    returncode: int


def command(*program: object, options: tuple[object, ...] = ()) -> list[str]:
    """`kinetograph run` for this Python."""
    return [sys.executable, "-m", "kinetograph", "run", *map(str, options), *map(str, program)]


def python(*program: object, **options: Any) -> Outcome:
    return _outcome([sys.executable, *map(str, program)], **options)


def recorded(trace: Path, *program: object, options: tuple[object, ...] = (), **more: Any) -> Outcome:
    return _outcome(command(*program, options=("-q", "-o", trace, *options)), **more)


def _outcome(arguments: list[str], timeout: float = 60, **options: Any) -> Outcome:
    options.setdefault("stdin", None if "input" in options else subprocess.DEVNULL)
    if options["stdin"] is None:
        del options["stdin"]
    done = subprocess.run(arguments, capture_output=True, timeout=timeout, **options)
    return Outcome(done.stdout, done.stderr, done.returncode)


def with_variables(**variables: str) -> dict[str, str]:
    return os.environ | variables


def scopes_by_process(trace: kg.Trace) -> dict[int | str, list[str]]:
    """Names of the events of each process that has some."""
    found: dict[int | str, list[str]] = {}
    for event in trace.events:
        found.setdefault(event.track.process.pid, []).append(event.name)
    return found


def notes(trace: kg.Trace, kind: str) -> list[str]:
    return [note.text for note in trace.notes if note.kind == kind]


def scopes(trace: kg.Trace) -> list[kg.Event]:
    """What the program named itself; the calls of the interpreter are others in every version."""
    return [event for event in trace.events if not event.is_python_function]

"""Traces from the session files of processes that did not live to stop their session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from kinetograph import _native
from kinetograph.errors import KinetographError
from kinetograph.trace import Trace

__all__ = ["recover_directory", "recover_file"]

_SUFFIX = ".kgsession"


def recover_file(path: str | os.PathLike[str]) -> Trace:
    """What the process had recorded; scopes that were open are unfinished events."""
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe would be waited for
        raise KinetographError(f"{os.fspath(path)} is no file", hint="move what is no session file away")
    try:
        return Trace(_native.recover(os.fspath(path)))
    except RuntimeError as error:
        raise KinetographError(
            str(error), hint="session files are made by recording with crash_safe=True"
        ) from error
    except OSError as error:
        raise KinetographError(f"cannot read {os.fspath(path)}: {error.strerror}") from error


def recover_directory(
    directory: str | os.PathLike[str], tell: Callable[[str], object] = lambda sentence: None
) -> Iterator[Path]:
    """Make a `.json.gz` beside each session file, one after another; the session files stay.

    Of a process that still runs it is what it has recorded so far, and `tell` is told so. A file that cannot
    be read does not keep the others from being recovered: the error comes after them.
    """
    files = sorted(Path(directory).glob(f"*{_SUFFIX}"))
    if not files:
        raise KinetographError(f"there is no session file (*{_SUFFIX}) in {os.fspath(directory)}")
    failures: list[KinetographError] = []
    for file in files:
        try:
            trace = _recover_beside(file, tell)
        except KinetographError as error:
            failures.append(error)
        else:
            yield trace
    if failures:
        sentences = [str(failure).splitlines()[0] for failure in failures]
        raise KinetographError("; ".join(sentences), hint=failures[0].hint or "-o FILE writes elsewhere")


def _recover_beside(file: Path, tell: Callable[[str], object]) -> Path:
    target = file.with_suffix(".json.gz")
    trace = recover_file(file)
    for note in trace.notes:
        if note.kind == "running":
            tell(note.text)
    trace.save(target)
    return target

"""The end of the interpreter while sessions run: what has a path is written."""

from __future__ import annotations

import atexit
import os

from kinetograph.errors import tell_on_stderr
from kinetograph.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from kinetograph.session.recording import Session
    from kinetograph.trace import Trace

__all__ = ["forget", "keep", "watch"]

_watched: list[Session] = []
_is_over = False
# Two sessions may have one path, and neither is to lose its trace to the other.
_written: set[str] = set()


def watch(session: Session) -> None:
    if session.exit_path is None:
        return
    if _is_over:
        _tell(f"will not be written to {session.exit_path}: the program is ending already")
    if not _watched:
        atexit.register(_write_all)
    _watched.append(session)


def forget(session: Session) -> None:
    if session in _watched:
        _watched.remove(session)
        if not _watched:
            atexit.unregister(_write_all)


def _write_all() -> None:
    for session in list(_watched):
        if session.is_open and session.has_begun and session.exit_path is not None:
            _write(session, session.exit_path)


def _write_late() -> None:
    """For sessions that other functions at exit have started: Python calls none that those register."""
    global _is_over
    _write_all()
    _is_over = True


def _write(session: Session, path: str) -> None:
    try:
        trace = session.stop()
    except Exception as error:
        _tell(f"was not written: {error}")
        return
    keep(trace, path)


def keep(trace: Trace, path: str | None) -> None:
    """Write a trace that nobody will ask for any more, if it was given a path."""
    if path is None:
        return
    chosen = _path_of_its_own(path)
    try:
        trace.save(chosen)
    except Exception as error:
        _tell(f"was not written to {chosen}: {error}")
        _write_elsewhere(trace)
        return
    _written.add(chosen)
    if chosen != path:
        _tell(f"is in {chosen}: another session was given the same path")


def _path_of_its_own(path: str) -> str:
    folder, name = os.path.split(path)
    stem, dot, suffix = name.partition(".")
    number = 1
    while path in _written:
        number += 1
        path = os.path.join(folder, f"{stem}-{number}{dot}{suffix}")
    return path


def _write_elsewhere(trace: Trace) -> None:
    """What was recorded cannot be recorded again, so it goes where something can be written."""
    import tempfile

    name = f"kinetograph-{os.getpid()}-{os.urandom(4).hex()}.json.gz"
    try:
        path = os.path.join(tempfile.gettempdir(), name)
        trace.save(path)
    except Exception as error:
        _tell(f"is lost: {error}")
    else:
        _tell(f"is in {path}")


def _tell(what: str) -> None:
    tell_on_stderr(f"the trace of process {os.getpid()} {what}")


# Registered with the import, so that it runs after the functions that the program registers.
atexit.register(_write_late)

"""The end of the interpreter while sessions run: what has a path is written."""

from __future__ import annotations

import atexit
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kinetograph.session.recording import Session

__all__ = ["forget", "watch"]

_watched: list[Session] = []


def watch(session: Session) -> None:
    if session.exit_path is None:
        return
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
        if session.is_running and session.exit_path is not None:
            _write(session, session.exit_path)


def _write(session: Session, path: str) -> None:
    try:
        session.stop().save(path)
    except Exception as error:
        print(f"kinetograph: the trace of process {os.getpid()} was not written: {error}", file=sys.stderr)

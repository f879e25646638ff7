"""What holds for every test: it leaves no session, no observer and no thread behind."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from kinetograph import _native
from kinetograph.session import observer

# A shell starts what runs in its background with Ctrl-C ignored, and nohup with SIGHUP. Programs of tests
# would inherit that; what has a handler here is as ever in them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> Iterator[None]:
    threads_before = set(threading.enumerate())
    yield
    threads = [thread.name for thread in threading.enumerate() if thread not in threads_before]
    callbacks = set(observer._alive)
    sessions = _stop_all_sessions()
    assert not sessions, f"sessions left running: {sessions}"
    assert not callbacks, f"callbacks left in place: {callbacks}"
    assert not threads, f"threads left running: {threads}"
    assert not _native.is_emitting(), "scopes are still sent to another tool"


def _stop_all_sessions() -> list[int]:
    """Stopped here so that one test that forgot does not make all those after it fail."""
    sessions = [session for session, _owner, _all_threads in _native.sessions()]
    for session in sessions:
        _native.discard_session(session)
    return sessions

"""`enable_profiler`, `disable_profiler`: the low-level pair, per thread as in Kineto by default."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable

from kinetograph.errors import StateError
from kinetograph.session.config import ProfilerConfig
from kinetograph.session.recording import PostProcess, Session
from kinetograph.session.result import ProfilerResult

__all__ = [
    "disable_profiler",
    "disable_profiler_in_child_thread",
    "enable_profiler",
    "enable_profiler_in_child_thread",
    "is_profiler_enabled_in_main_thread",
]

# Sessions of this module, in the order they were started. A thread ends its own, innermost first.
_running: list[Session] = []
# One that a signal handler may take in the middle of either; so what is done to the list under it is done in
# single steps, each of which leaves what a handler has done to it meanwhile.
_lock = threading.RLock()
# The sessions that a thread takes part in, once for each time it asked to.
_parts = threading.local()


def _go_on_in_child() -> None:
    """With the sessions that send, which its only thread may end now."""
    try:
        for session in _still_running():
            session.go_on_in_child()
    finally:
        _lock.release()


# Held across a fork: a child in which another thread's lock is never opened again could start no session.
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_go_on_in_child)


def enable_profiler(
    config: ProfilerConfig | None = None,
    activities: Iterable[object] | None = None,
    scopes: Iterable[object] = (),
    *,
    all_threads: bool = False,
    post_process: PostProcess | None = None,
) -> None:
    """Begin to record the calling thread, or all threads; `disable_profiler` in the same thread ends it.

    >>> kg.enable_profiler(kg.ProfilerConfig(), {kg.ActivityType.CPU})
    >>> with kg.scope("work"):
    ...     work()
    >>> kg.disable_profiler().save("trace.json")

    `activities` are all supported ones unless given; none at all record nothing, and without
    `ActivityType.CPU` there are no scopes, marks and counters. `scopes` keeps only scopes of these kinds.
    `ProfilerState.NVTX` and `ITT` send scopes, marks and counters whatever the activities are.
    `post_process` is called once with the Trace and may enrich it; if it raises, that is a note in the trace
    and a warning.
    """
    chosen = ProfilerConfig() if config is None else config
    started: list[Session] = []
    try:
        Session.start(chosen, activities, scopes, all_threads, post_process, kept=started)
        with _lock:
            _running.extend(started)
    except BaseException:  # an interrupt, behind which nobody would know of it
        for session in started:
            session.discard()
        raise


def disable_profiler() -> ProfilerResult:
    """End the session this thread started last, and give what it recorded.

    A thread without one ends that of a thread which is gone, and could not end it any more. Sessions nest: if
    one that this thread started earlier still runs, a note in the trace says so.
    """
    with _lock:
        session = _own()
        outer = _of_thread(session.owner_tid, session)
        session.owner_tid = (
            threading.get_native_id()
        )  # so that nobody else takes that of a thread that is gone
    # It stays in the list until its trace is there to be returned: the next call makes up for an interrupt.
    result = ProfilerResult(session.finish())
    if outer is not None:
        result.trace.add_note("nested", _still_runs(outer))
    with _lock:
        _running[:] = [each for each in _still_running() if each is not session]
    if not session.let_go():
        raise StateError("another call of disable_profiler() was first", hint="one call ends one session")
    return result


def is_profiler_enabled_in_main_thread() -> bool:
    with _lock:
        return _of_main_thread() is not None


def enable_profiler_in_child_thread() -> None:
    """Let the calling thread take part in the session that the main thread started last."""
    with _lock:
        session = _of_main_thread()
        if session is None:
            raise StateError(
                "the main thread has no session to take part in", hint="call kg.enable_profiler() there first"
            )
        mine = _own_parts()
        if session not in mine and session.owner_tid != threading.get_native_id():
            session.join()
        mine.append(session)


def disable_profiler_in_child_thread() -> None:
    """Undo the last `enable_profiler_in_child_thread` of the calling thread; what it recorded stays.

    It goes on taking part in a session that it started itself, or had asked to take part in before.
    """
    with _lock:
        mine = _own_parts()
        if not mine:
            raise StateError(
                "this thread takes part in no session",
                hint="kg.enable_profiler_in_child_thread() comes first",
            )
        session = mine.pop()
        if session not in mine and session.owner_tid != threading.get_native_id():
            session.leave()


def _own_parts() -> list[Session]:
    """Of sessions that still run: others are over, and with them the part in them."""
    _parts.sessions = [session for session in getattr(_parts, "sessions", ()) if session.is_running]
    mine: list[Session] = _parts.sessions
    return mine


def _still_running() -> list[Session]:
    # A forked child inherits this list, but of the sessions only those that send.
    _running[:] = [session for session in _running if session.is_open]
    return _running


def _of_main_thread() -> Session | None:
    return _of_thread(os.getpid())  # the number of the main thread; its Thread keeps that of before a fork


def _of_thread(tid: int | None, but: Session | None = None) -> Session | None:
    """The one it started last."""
    found = (session for session in reversed(_still_running()) if session.owner_tid == tid)
    return next((session for session in found if session is not but), None)


def _still_runs(session: Session) -> str:
    """Meant so by whoever nests sessions, and news to whoever ran the cell of a notebook twice."""
    began = time.strftime("%H:%M:%S", time.localtime(session.started_at))
    return f"another session of this thread, started at {began}, still runs until disable_profiler() ends it"


def _own() -> Session:
    mine = threading.get_native_id()
    for session in reversed(_still_running()):
        if session.owner_tid == mine:
            return session
    alive = {thread.native_id for thread in threading.enumerate()} | {os.getpid()}
    for session in reversed(_still_running()):
        if session.owner_tid not in alive:
            return session
    raise _nothing_to_disable()


def _nothing_to_disable() -> StateError:
    here = threading.current_thread().name
    if not _running:
        return StateError(
            f"no session runs, so {here} has none to end", hint="call kg.enable_profiler() first"
        )
    owners = ", ".join(f"{session.owner} (thread {session.owner_tid})" for session in _running)
    return StateError(
        f"{here} has started no session; those that run belong to {owners}",
        hint="call disable_profiler() in the thread that called enable_profiler()",
    )

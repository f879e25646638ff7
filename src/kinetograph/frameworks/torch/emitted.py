"""Operators that torch tells itself, where the observer cannot be built: names and nesting, no more.

Torch can send every operator of a thread by ITT or NVTX, to a library of ours; `routes.py` says by which.
Threads that autograd uses for a backward pass take over what is on in the thread that asked for it; others
do not.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from kinetograph.fork_locks import hold_across_forks
from kinetograph.frameworks.torch.enabled_flag import want_flag
from kinetograph.frameworks.torch.routes import enable, route_of

__all__ = ["EmittedOperators", "is_emitting"]

# Functions of torch.autograd.profiler that begin to profile a thread, which must not be profiled already.
_BEGINNINGS = ("_prepare_profiler", "_enable_profiler")

_lock = threading.RLock()
_torchs_own: dict[str, Callable[..., Any]] = {}


class _Thread:
    """One that has sessions. It is gone when the thread is, whose number the next one may have."""

    def __init__(self, torch: Any) -> None:
        self.sessions: weakref.WeakSet[EmittedOperators] = weakref.WeakSet()
        # It may end without having switched it off.
        weakref.finalize(self, _settle, torch).atexit = False


_here = threading.local()
# Threads in which torch emits because of us; each can only be switched off by itself.
_emitting: weakref.WeakSet[_Thread] = weakref.WeakSet()


def _this_thread(torch: Any) -> _Thread:
    if not hasattr(_here, "thread"):
        _here.thread = _Thread(torch)
    found: _Thread = _here.thread
    return found


class EmittedOperators:
    """The part of one session, in place of `OperatorUse`. Raises `NotAvailable` where torch cannot tell us.

    >>> use = EmittedOperators(torch, because="no C++ compiler was found")
    >>> use.start()
    >>> use.release()
    """

    def __init__(self, torch: Any, because: str) -> None:
        self._route = route_of(torch)
        self._torch = torch
        self._because = because
        self._is_on = False
        self._process = os.getpid()
        # Torch's own profiler has taken our place since it began.
        self._is_interrupted = False

    def start(self) -> None:
        with _lock:
            self._process = os.getpid()
            self._is_on = True
            _this_thread(self._torch).sessions.add(self)
            self._is_interrupted = not _begin(self._torch, self._route)

    def settle(self) -> None:
        """There is nothing to do before the session stops."""

    def release(self) -> None:
        """From any thread; does nothing where it was not started, or in a forked child."""
        with _lock:
            if not self._is_on or self._process != os.getpid():
                return
            self._is_on = False
            if not any(session._is_on for session in _this_thread(self._torch).sessions):
                _end(self._torch)

    def notes(self) -> Iterator[str]:
        yield (
            f"operators of torch came by {self._route}, with names and nesting only, and from the thread "
            f"that started the session and those of autograd alone: {self._because}; shapes, FLOPs, "
            "sequence numbers and all threads come with the observer: `kinetograph build torch` says what it "
            "lacks"
        )
        if self._is_interrupted:
            yield "there are none from when torch's own profiler began in that thread: it bears no other"


def is_emitting() -> bool:
    """Whether torch itself sends us the ranges of the calling thread."""
    return getattr(_here, "thread", None) in _emitting


def _begin(torch: Any, route: str) -> bool:
    """In the calling thread; False where torch's own profiler is at work there."""
    thread = _this_thread(torch)
    if thread in _emitting:
        return True
    if torch._C._autograd._profiler_enabled():
        return False
    enable(torch, route)
    _emitting.add(thread)
    # Of a session that nobody stops torch would tell at the exit.
    atexit.unregister(_end)
    atexit.register(_end, torch)
    want_flag(torch, "emitted", wanted=True)
    _stand_aside_when_asked(torch)
    return True


def _end(torch: Any) -> None:
    """In the calling thread, if it is on there."""
    if not is_emitting():
        return
    _emitting.discard(_this_thread(torch))
    torch._C._autograd._disable_profiler()
    _settle(torch)


def _settle(torch: Any) -> None:
    """Torch is as it was once it emits in no thread."""
    with _lock:
        want_flag(torch, "emitted", wanted=bool(_emitting))
        while _torchs_own and not _emitting:
            name, function = _torchs_own.popitem()
            setattr(torch.autograd.profiler, name, function)


def _stand_aside_when_asked(torch: Any) -> None:
    """Torch refuses to profile a thread twice: who starts its own profiler there gets that, and no error."""
    profiler = torch.autograd.profiler

    def standing_aside(function: Callable[..., Any]) -> Callable[..., Any]:
        def begin(*args: Any, **options: Any) -> Any:
            with _lock:
                if is_emitting():
                    for session in _this_thread(torch).sessions:
                        session._is_interrupted |= session._is_on
                _end(torch)
            return function(*args, **options)

        return begin

    for name in _BEGINNINGS:
        if name not in _torchs_own and hasattr(profiler, name):
            _torchs_own[name] = getattr(profiler, name)
            setattr(profiler, name, standing_aside(_torchs_own[name]))


def _leave_parent() -> None:
    """In a forked child, which has no session of its parent's, nor its other threads."""
    if hasattr(_here, "thread"):
        _here.thread.sessions.clear()
    if not _emitting:
        return
    import torch

    _emitting.intersection_update({_this_thread(torch)})
    with suppress(Exception):
        _end(torch)
        _settle(torch)


hold_across_forks(_lock, _leave_parent)

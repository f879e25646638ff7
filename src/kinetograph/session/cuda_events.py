"""Scopes timed by CUDA events, where CUPTI cannot be used or is not wanted.

An observer records an event on the stream that the program works on when a scope begins, and another when it
ends. Nothing here makes the program initialise CUDA, and nothing fails: what is not timed is counted.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from kinetograph import _native
from kinetograph.errors import KinetographError
from kinetograph.fork_locks import hold_across_forks
from kinetograph.session import observer
from kinetograph.trace.words import counted

__all__ = ["ScopeTimes"]

_PER_THREAD_STREAM = 2  # CU_STREAM_PER_THREAD
_FIRST_DEVICE = 0

# One that a signal handler may take in the middle of either.
_lock = threading.RLock()
_uses: set[ScopeTimes] = set()
_callback = 0


class ScopeTimes:
    """What one session wants of the timer while it runs. All share it."""

    def __init__(self) -> None:
        self._before = _native.scope_times()
        _native.start_scope_timer()
        self._has_timer = True
        _uses.add(self)
        _observe()

    def flush(self) -> None:
        """Bring in the scopes that have ended. Waits until the GPU has got there."""
        _native.flush_timed_scopes()

    def release(self) -> None:
        _uses.discard(self)
        _observe()
        if self._has_timer:
            _native.stop_scope_timer()
            self._has_timer = False

    def notes(self) -> Iterator[str]:
        timed, captured, elsewhere, lost, error_ns = _native.scope_times()
        timed_before, captured_before, elsewhere_before, lost_before, _error = self._before
        if timed > timed_before:
            yield (
                "scopes were timed by CUDA events on the stream they ran on; when the GPU reached them"
                f" is known to within {max(1, round(error_ns / 1e3)):,} us"
            )
        left_out = {
            "their stream was being captured": captured - captured_before,
            "they ended in another CUDA context than they began in": elsewhere - elsewhere_before,
            "the driver refused, or their CUDA context is gone": lost - lost_before,
        }
        for reason, number in left_out.items():
            if number:
                yield f"{counted(number, 'scope')} not timed by CUDA events: {reason}"


def _observe() -> None:
    """The observer is there while anybody wants it."""
    global _callback
    with _lock:
        if _uses and not _callback:
            _callback = observer.add_global_callback(_begin, _end)
        elif not _uses and _callback:
            with suppress(KinetographError):  # it is gone: an interrupt came behind that
                observer.remove_callback(_callback)
            _callback = 0


def _forget() -> None:
    """A forked child has no session, and no CUDA that could be used."""
    _uses.clear()
    _observe()


def _begin(function: observer.RecordFunction) -> int:
    if not _native.scope_timer_is_ready():
        return 0
    return _native.begin_timed_scope(function.name, *_current_stream())


def _end(_function: observer.RecordFunction, number: int | None) -> None:
    if number:
        _native.end_timed_scope(number, *_current_stream())


def _current_stream() -> tuple[int, int]:
    """The device and the handle of the stream that this thread works on."""
    try:
        found = _stream_of_torch(sys.modules.get("torch")) or _stream_of_cupy(sys.modules.get("cupy"))
    except Exception:
        found = None
    # It waits for the legacy stream, and that for it: so it serves whoever uses either.
    return found or (_FIRST_DEVICE, _PER_THREAD_STREAM)


def _stream_of_torch(torch: Any) -> tuple[int, int] | None:
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return None
    device = torch._C._cuda_getDevice()
    return device, torch._C._cuda_getCurrentRawStream(device)


def _stream_of_cupy(cupy: Any) -> tuple[int, int] | None:
    cuda = getattr(cupy, "cuda", None)
    if cuda is None:
        return None
    return cuda.runtime.getDevice(), cuda.get_current_stream().ptr


# Held across a fork, after which the observer's own lock is free again.
hold_across_forks(_lock, _forget)

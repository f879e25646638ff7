"""Python calls: what to record of them, and the one collector that all sessions share."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from typing import Literal

from kinetograph import _native
from kinetograph.checks import require_bools, require_choice, require_int, text_tuple
from kinetograph.errors import KinetographError
from kinetograph.session.values import Value

__all__ = ["CallOptions", "record_calls", "release_calls"]

_ANY_DEPTH = (1 << 32) - 1
_MOST = (1 << 62) - 1


class CallOptions(Value):
    """Which Python calls to record, and how.

    >>> CallOptions(include=["mypackage"], c_calls=True)
    >>> CallOptions(exclude=["importlib", "*/site-packages/*"], min_duration_ns=10_000)

    `include` and `exclude` name modules with all that lies below them (`torch.nn`), or paths of files and
    folders (whatever has a slash or ends in `.py`); both may hold `*`. What is excluded is left out whatever
    `include` says, and from Python 3.12 on costs nothing. `c_calls` adds calls of C functions. `call_lines`
    tells the line each call was made from. `max_depth` counts recorded calls from the outermost.

    Mode "off" records no calls, and lets `with_stack` find the stack of each scope by looking at the frames.
    """

    mode: Literal["trace", "off"] = "trace"
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    max_depth: int | None = None
    min_duration_ns: int = 0
    c_calls: bool = False
    call_lines: bool = False

    def __post_init__(self) -> None:
        require_choice("mode", self.mode, ("trace", "off"))
        for name in ("include", "exclude"):
            object.__setattr__(self, name, text_tuple(name, getattr(self, name)))
        if self.max_depth is not None:
            require_int("max_depth", self.max_depth, 1, _ANY_DEPTH, hint="1 records the outermost calls only")
        require_int("min_duration_ns", self.min_duration_ns, 0, _MOST, hint="nanoseconds; 0 records all")
        require_bools(self)


class Use:
    """What one session wants of the collector while it runs."""

    def __init__(self, calls: CallOptions | None, garbage_collection: bool, scope_stacks: bool) -> None:
        self.calls = calls
        self.garbage_collection = garbage_collection
        self.scope_stacks = scope_stacks
        self.process = os.getpid()


# What the sessions of this process want, in the order they came.
_uses: list[Use] = []
_lock = threading.RLock()
# Held across a fork, as in low_level.py.
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release)


def record_calls(calls: CallOptions | None, *, garbage_collection: bool, scope_stacks: bool) -> Use | None:
    """Begin to record for one session; None if it wants nothing. `release_calls` ends it."""
    if calls is None and not garbage_collection and not scope_stacks:
        return None
    use = Use(calls, garbage_collection, scope_stacks)
    with _lock:
        _uses.append(use)
        try:
            _apply()
        except RuntimeError as error:
            _uses.remove(use)
            raise KinetographError(f"cannot record Python calls: {error}") from error
    return use


def release_calls(use: Use | None) -> None:
    with _lock:
        if use in _uses:
            _uses.remove(use)
            _apply()


def _apply() -> None:
    """Let the collector do what all uses together want."""
    if not _uses:
        _native.stop_calls()
        return
    wanted = [use.calls for use in _uses if use.calls is not None]
    _native.start_calls(
        include=_together(options.include for options in wanted),
        exclude=_in_all([options.exclude for options in wanted]),
        max_depth=max((options.max_depth or _ANY_DEPTH for options in wanted), default=_ANY_DEPTH),
        min_duration_ns=min((options.min_duration_ns for options in wanted), default=0),
        c_calls=any(options.c_calls for options in wanted),
        call_lines=any(options.call_lines for options in wanted),
        python_calls=bool(wanted),
        garbage_collection=any(use.garbage_collection for use in _uses),
        scope_stacks=any(use.scope_stacks for use in _uses),
    )


def _together(lists: Iterable[Sequence[str]]) -> list[str]:
    """All that somebody wants; an empty list wants everything."""
    wanted: list[str] = []
    for patterns in lists:
        if not patterns:
            return []
        wanted += patterns
    return wanted


def _in_all(lists: list[Sequence[str]]) -> list[str]:
    """What nobody wants."""
    return [pattern for pattern in (lists[0] if lists else ()) if all(pattern in other for other in lists)]


def _start_clean_in_child() -> None:
    # Sessions do not survive a fork; one that a child has started before we come here does.
    _lock.release()
    mine = os.getpid()
    if any(use.process != mine for use in _uses):
        _uses[:] = [use for use in _uses if use.process == mine]
        _apply()


os.register_at_fork(after_in_child=_start_clean_in_child)

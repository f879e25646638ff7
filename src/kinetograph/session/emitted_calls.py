"""Python calls for other tools: the native profile function, in this thread and in those that start later."""

from __future__ import annotations

import threading
from typing import Any

from kinetograph import _native
from kinetograph.errors import StateError, warn_or_tell

__all__ = ["start", "stop"]

_users: dict[int, int] = {}  # to the thread that started
_before: Any = None  # what new threads got without us


def start(to_itt: bool, user: int) -> None:
    """Send calls to one interface. Raises where another profile function is at work."""
    global _before
    if not _native.start_emitted_calls(to_itt, user):
        raise StateError(
            "with_calls needs the profile function of this thread, and another tool has it",
            hint="end that tool first, cProfile for one, or leave with_calls out",
        )
    _users[user] = threading.get_ident()
    if threading.getprofile() is not _native.follow_calls:
        _before = threading.getprofile()
        threading.setprofile(_native.follow_calls)


def stop(to_itt: bool, user: int) -> None:
    """Does nothing for who has not started, or has stopped."""
    was_cut = _users.get(user) == threading.get_ident() and not _native.follows_calls_here()
    _native.stop_emitted_calls(to_itt, user)
    _users.pop(user, None)
    if not _users and threading.getprofile() is _native.follow_calls:
        threading.setprofile(_before)
    if was_cut:
        warn_or_tell(
            "with_calls: another profile function took over, and the calls behind that were not sent"
        )

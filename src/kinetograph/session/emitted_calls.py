"""Python calls for other tools: the native profile function, in this thread and in those that start later."""

from __future__ import annotations

import threading
from typing import Any

from kinetograph import _native
from kinetograph.errors import StateError

__all__ = ["start", "stop"]

_users: set[int] = set()
_before: Any = None  # what new threads got without us


def start(to_itt: bool, user: int) -> None:
    """Send calls to one interface. Raises where another profile function is at work."""
    global _before
    if not _native.start_emitted_calls(to_itt, user):
        raise StateError(
            "with_calls needs the profile function of this thread, and another tool has it",
            hint="end that tool first, cProfile for one, or leave with_calls out",
        )
    _users.add(user)
    if threading.getprofile() is not _native.follow_calls:
        _before = threading.getprofile()
        threading.setprofile(_native.follow_calls)


def stop(to_itt: bool, user: int) -> None:
    """Does nothing for who has not started, or has stopped."""
    _native.stop_emitted_calls(to_itt, user)
    _users.discard(user)
    if not _users and threading.getprofile() is _native.follow_calls:
        threading.setprofile(_before)

"""Python calls for other tools: the native profile function, in this thread and in those that start later."""

from __future__ import annotations

import threading
from typing import Any

from kinetograph import _native
from kinetograph.errors import StateError

__all__ = ["start", "stop"]

_users = 0
_before: Any = None  # what new threads got without us


def start(to_itt: bool) -> None:
    """Send calls to one interface. Raises where another profile function is at work."""
    global _users, _before
    if not _native.start_emitted_calls(to_itt):
        raise StateError(
            "with_calls needs the profile function of this thread, and another tool has it",
            hint="end that tool first, cProfile for one, or leave with_calls out",
        )
    _users += 1
    if _users == 1:
        _before = threading.getprofile()
        threading.setprofile(_native.follow_calls)


def stop(to_itt: bool) -> None:
    global _users
    _native.stop_emitted_calls(to_itt)
    _users -= 1
    if _users == 0 and threading.getprofile() is _native.follow_calls:
        threading.setprofile(_before)

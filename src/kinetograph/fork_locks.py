"""Locks held across a fork: in the child nobody else would release them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

__all__ = ["hold_across_forks", "loading"]

loading = threading.RLock()
"""For loading a module late: forks wait, since a child that is forked meanwhile could never load that module.

One for all of them, for a thread that held a second one would wait for a fork that waits for that.
"""

os.register_at_fork(before=loading.acquire, after_in_parent=loading.release, after_in_child=loading.release)


def _nothing() -> None:
    pass


def hold_across_forks(lock: threading.RLock, in_child: Callable[[], object] = _nothing) -> None:
    """For a lock of a module that is loaded late; a fork that has begun is not held up.

    A thread may load the module while others are about to fork.

    For such a fork Python calls what is registered for after it, and has not called what is registered for
    before. So each thread lets go of what it holds itself; `in_child` is called once the child has the lock.
    """
    holders: list[int] = []

    def hold() -> None:
        lock.acquire()
        holders.append(threading.get_ident())

    def let_go() -> None:
        if threading.get_ident() in holders:
            holders.remove(threading.get_ident())
            lock.release()

    def begin_anew() -> None:
        # Whoever held it, for a fork of their own or else, is not here.
        holders.clear()
        lock._at_fork_reinit()  # type: ignore[attr-defined]
        in_child()

    os.register_at_fork(before=hold, after_in_parent=let_go, after_in_child=begin_anew)

"""Locks of modules that are loaded late, held across a fork: in the child nobody else would release them."""

from __future__ import annotations

import os
from typing import Protocol

__all__ = ["hold_across_forks"]


class _Lock(Protocol):
    def acquire(self) -> bool: ...
    def release(self) -> None: ...


def hold_across_forks(lock: _Lock) -> None:
    """Not in a fork that has begun: a thread may load the module while another one is about to fork.

    Python then calls what is registered for after the fork, and has not called what is registered for before.
    """
    held: list[None] = []

    def hold() -> None:
        lock.acquire()
        held.append(None)

    def let_go() -> None:
        if held:
            held.pop()
            lock.release()

    os.register_at_fork(before=hold, after_in_parent=let_go, after_in_child=let_go)

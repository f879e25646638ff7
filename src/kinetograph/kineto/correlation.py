"""The correlation ids that a thread has pushed: the innermost joins the device work it starts to its caller.

Kinetograph joins launches to scopes by thread and time, so nobody has to push. These stacks are for callers
that bring ids of their own: while CUDA is being recorded the innermost one becomes an argument of each call
of CUDA, "External correlation id" or, of users' ids, "User correlation id".
"""

from __future__ import annotations

import threading

from kinetograph import _native
from kinetograph.checks import require_int

__all__ = [
    "correlation_id",
    "pop_correlation_id",
    "pop_user_correlation_id",
    "push_correlation_id",
    "push_user_correlation_id",
    "reset_tls",
    "user_correlation_id",
]


# What native code calls the two.
_OPERATORS, _USERS = 0, 1


class _Stack(list[int]):
    """Ids, of which native code keeps the same stack for the calls it sees."""

    def __init__(self, whose: int) -> None:
        super().__init__()
        self._whose = whose

    def push(self, correlation_id: int) -> None:
        require_int("correlation_id", correlation_id, 0, (1 << 64) - 1, hint="0 stands for none")
        self.append(correlation_id)
        _native.push_external_id(self._whose, correlation_id)

    def pop_id(self) -> None:
        if self:
            self.pop()
            _native.pop_external_id(self._whose)

    def newest(self) -> int:
        return self[-1] if self else 0


class _Stacks(threading.local):
    def __init__(self) -> None:
        self.operators = _Stack(_OPERATORS)
        self.users = _Stack(_USERS)


_stacks = _Stacks()


def push_correlation_id(correlation_id: int) -> None:
    _stacks.operators.push(correlation_id)


def pop_correlation_id() -> None:
    """Forget this thread's newest id. Nothing happens without one: its push may predate the profiler."""
    _stacks.operators.pop_id()


def push_user_correlation_id(correlation_id: int) -> None:
    """As push_correlation_id, for spans that users name; device spans of these become gpu_user_annotation."""
    _stacks.users.push(correlation_id)


def pop_user_correlation_id() -> None:
    _stacks.users.pop_id()


def correlation_id() -> int:
    """The newest id this thread has pushed, 0 without one."""
    return _stacks.operators.newest()


def user_correlation_id() -> int:
    return _stacks.users.newest()


def reset_tls() -> None:
    """Forget all that this thread has pushed."""
    for stack in (_stacks.operators, _stacks.users):
        while stack:
            stack.pop_id()

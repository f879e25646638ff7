"""The correlation ids that a thread has pushed: the innermost joins the device work it starts to its caller.

Kinetograph joins launches to scopes by thread and time, so nobody has to push. These stacks are for callers
that bring ids of their own; the device collectors read the innermost one.
"""

from __future__ import annotations

import threading

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


class _Stacks(threading.local):
    def __init__(self) -> None:
        self.operators: list[int] = []
        self.users: list[int] = []


_stacks = _Stacks()


def push_correlation_id(correlation_id: int) -> None:
    _require_id(correlation_id)
    _stacks.operators.append(correlation_id)


def pop_correlation_id() -> None:
    """Forget this thread's newest id. Nothing happens without one: its push may predate the profiler."""
    if _stacks.operators:
        _stacks.operators.pop()


def push_user_correlation_id(correlation_id: int) -> None:
    """As push_correlation_id, for spans that users name; device spans of these become gpu_user_annotation."""
    _require_id(correlation_id)
    _stacks.users.append(correlation_id)


def pop_user_correlation_id() -> None:
    if _stacks.users:
        _stacks.users.pop()


def _require_id(value: int) -> None:
    require_int("correlation_id", value, 0, (1 << 64) - 1, hint="0 stands for none")


def correlation_id() -> int:
    """The newest id this thread has pushed, 0 without one."""
    return _stacks.operators[-1] if _stacks.operators else 0


def user_correlation_id() -> int:
    return _stacks.users[-1] if _stacks.users else 0


def reset_tls() -> None:
    """Forget all that this thread has pushed."""
    _stacks.operators.clear()
    _stacks.users.clear()

"""`KinetoStepTracker`: at which step the program is, whoever counts its steps."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from kinetograph.errors import warn_program
from kinetograph.hints import ClassVar

__all__ = ["KinetoStepTracker", "step"]


class KinetoStepTracker:
    """The step of the program is the most that any of those who count has counted.

    A program may step its profile and an optimizer in every iteration: counted twice, it is still one step.

    >>> KinetoStepTracker.increment_step("my loop")
    1
    """

    _steps: ClassVar[dict[str, int]] = {}
    _current = 0
    _listeners: ClassVar[list[Callable[[], None]]] = []
    _lock = threading.RLock()

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Let `requester` count from where the program is."""
        with cls._lock:
            cls._steps[requester] = cls._current

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """False if there was none."""
        with cls._lock:
            return cls._steps.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Count one step for `requester`, and give the step the program is at."""
        with cls._lock:
            cls._steps[requester] = cls._steps.get(requester, cls._current) + 1
            ahead = max(cls._steps.values()) - cls._current
            cls._current += max(ahead, 0)
            current = cls._current
        # Without the lock: listeners have locks of their own, and who holds one of those may begin to count.
        if ahead > 1:
            warn_program(f"{requester} is {ahead} steps ahead: were steps counted before it began?")
        for _ in range(ahead):
            for listener in cls._listeners:
                listener()
        return current

    @classmethod
    def current_step(cls) -> int:
        return cls._current

    @classmethod
    def tell(cls, listener: Callable[[], None]) -> None:
        """Call `listener` at every step of the program from now on."""
        cls._listeners.append(listener)


def step() -> int:
    """Say that a step of the program is over, where no profile counts them; gives the one that begins.

    >>> for batch in batches:
    ...     train(batch)
    ...     kg.step()

    `kinetograph capture --steps 10` counts these.
    """
    return KinetoStepTracker.increment_step("kg.step")


# Held across a fork: in the child nobody else would release it.
os.register_at_fork(
    before=KinetoStepTracker._lock.acquire,
    after_in_parent=KinetoStepTracker._lock.release,
    after_in_child=KinetoStepTracker._lock.release,
)

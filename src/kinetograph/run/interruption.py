"""Being told to end after the program has ended, while its trace is made.

The launcher ends as the program did, whatever comes now: a signal only makes it give the trace up.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Interrupted", "ignore_interruptions", "interruptible"]

# Those that somebody (nohup, a shell) had us ignore stay ignored.
_SIGNALS = tuple(
    number
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    if signal.getsignal(number) is not signal.SIG_IGN
)


class Interrupted(BaseException):
    """Raised by the signal that its text names."""


def ignore_interruptions() -> None:
    """Until somebody knows what to do about them."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def interruptible() -> Iterator[None]:
    """The first signal raises `Interrupted` in the block. Others are ignored: it is being cleared up."""

    def interrupt(number: int, _frame: object) -> None:
        ignore_interruptions()
        raise Interrupted(signal.Signals(number).name)

    for number in _SIGNALS:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        ignore_interruptions()

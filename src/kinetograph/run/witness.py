"""Tells which signals went to the whole process group, and so to the program as well.

The kernel tells the receiver of a signal who sent it, but not whether it was sent to one process or to a
group. A second process of the launcher stays in the group and does nothing but keep the signals that it gets:
what both have got was sent to all.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections import Counter
from contextlib import suppress
from typing import NoReturn

from kinetograph.run.bootstrap import unrecorded_fork

__all__ = ["GroupWitness"]

# `timeout` sends its signal to its child first and then to the group: it is one signal to those who get both.
_SAME_SIGNAL_SECONDS = 0.2
_PAUSE_SECONDS = 0.005
_PATIENCE_SECONDS = 5
_LONGEST_ANSWER = 1 << 16


class GroupWitness:
    """Made while `signals` are blocked, which they have to stay.

    >>> witness = GroupWitness(signals)
    >>> witness.has_got(signal.sigwaitinfo(signals))
    True
    """

    def __init__(self, signals: set[int]) -> None:
        self._channel, its_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._seen: Counter[int] = Counter()
        self._pid = unrecorded_fork()
        if self._pid == 0:
            _bear_witness(its_end, signals)
        its_end.close()
        self._channel.settimeout(_PATIENCE_SECONDS)

    def has_got(self, received: signal.struct_siginfo) -> bool:
        """Whether this signal, which the launcher has got, was sent to the group."""
        number = received.si_signo
        is_queued = number >= signal.SIGRTMIN
        patience = 0 if is_queued or received.si_code > 0 else _SAME_SIGNAL_SECONDS
        deadline = time.monotonic() + patience
        while not self._has_seen(number):
            if time.monotonic() >= deadline:
                return False
            time.sleep(_PAUSE_SECONDS)
        self._seen[number] -= 1
        if not is_queued:
            self._seen[number] = 0
            # Sent again meanwhile: the program has this one, or had not yet looked at the one before.
            signal.sigtimedwait({number}, 0)
        return True

    def forget(self) -> None:
        """What was sent until now was not for the program."""
        self._ask()
        self._seen.clear()

    def _has_seen(self, number: int) -> bool:
        if not self._seen[number]:
            self._ask()
        return self._seen[number] > 0

    def _ask(self) -> None:
        # Takes the lock that a signal to a group is sent under: now all of the group have it, or none.
        with suppress(OSError):
            os.setpgid(0, os.getpgrp())
        try:
            self._channel.send(b"?")
            self._seen.update(self._channel.recv(_LONGEST_ANSWER))
        except OSError:
            # Somebody has killed or stopped it. From now on no signal is known to be the program's.
            self._channel.close()

    def close(self) -> None:
        self._channel.close()
        os.kill(self._pid, signal.SIGKILL)  # it may be stopped, and then does not see the channel close
        os.waitpid(self._pid, 0)


def _bear_witness(channel: socket.socket, signals: set[int]) -> NoReturn:
    """Until the launcher closes its end, or ends."""
    try:
        _close_all_but(channel.fileno())
        while channel.recv(1):
            seen = bytearray()
            while (received := signal.sigtimedwait(signals, 0)) is not None:
                seen.append(received.si_signo)
            channel.send(seen or b"\0")
    finally:
        os._exit(0)


def _close_all_but(kept: int) -> None:
    """Who reads what the program writes shall not wait for us."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) != kept:
            with suppress(OSError):
                os.close(int(name))

"""Starts the program, passes signals on to it, and ends as it did.

The program stays in the launcher's process group, so that it has the terminal and the terminal's signals as
if it had been called itself. Signals are not handled but waited for: between two of them the launcher sleeps.
What is sent to the launcher alone is passed on; what is sent to the group has reached the program already.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple, NoReturn

from kinetograph.run.interruption import ignore_interruptions
from kinetograph.run.witness import GroupWitness

__all__ = ["Ending", "end_like", "run_and_wait"]

# A fault in the launcher itself; waiting for it would hide it.
_OWN_FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGSYS}
_CANNOT_WAIT = {signal.SIGKILL, signal.SIGSTOP}
_STOPS_OF_TERMINAL = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
# Python ignores these from its start on; a program begins with what a shell gives it.
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
_CHORES_SECONDS = 5
# What no kernel writes to, neither a file nor a program that takes core dumps.
_NO_CORE = 1


class Ending(NamedTuple):
    """How the program ended: an exit status, or a signal."""

    pid: int
    status: int = 0
    signal: int = 0
    raw_ns: int = 0
    """When that was seen, by CLOCK_MONOTONIC_RAW."""

    def __str__(self) -> str:
        if self.signal:
            return f"was ended by {signal.Signals(self.signal).name}"
        return f"ended with status {self.status}"


def run_and_wait(
    command: list[str], environment: dict[str, str], meanwhile: Callable[[], None] = lambda: None
) -> Ending:
    """Start a program and wait for its end; `meanwhile` is called now and then."""
    with _waiting_for_signals() as (signals, mask), closing(GroupWitness(signals)) as witness:
        pid = os.posix_spawn(command[0], command, environment, setsigmask=mask, setsigdef=_IGNORED_BY_PYTHON)
        _pass_early_signals_on(pid, witness)
        while True:
            received = signal.sigtimedwait(signals, _CHORES_SECONDS)
            if received is None:
                meanwhile()
            elif received.si_signo == signal.SIGCHLD:
                ending = _look_after(pid)
                if ending is not None:
                    return ending
            elif not witness.has_got(received) and _is_sent_by_process(received):
                os.kill(pid, received.si_signo)


@contextmanager
def _waiting_for_signals() -> Iterator[tuple[set[int], set[int]]]:
    """Gives the signals to wait for, and the mask that the program shall have.

    Afterwards nothing that asks us to end is heard, until the trace is made: the program has ended already.
    """
    signals = {int(number) for number in signal.valid_signals() - _OWN_FAULTS - _CANNOT_WAIT}
    mask: set[int] = set(signal.pthread_sigmask(signal.SIG_BLOCK, signals))
    # One that was ignored when we started would have the kernel throw the program's end away.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        yield signals, mask
        ignore_interruptions()
    finally:
        while signal.sigtimedwait(signals, 0) is not None:
            pass  # it came too late for the program, and was not meant for us
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _pass_early_signals_on(pid: int, witness: GroupWitness) -> None:
    """Those from before the program was there, whoever they were sent to."""
    for number in signal.sigpending() - {signal.SIGCHLD}:
        signal.sigtimedwait({number}, 0)
        os.kill(pid, number)
    witness.forget()


def _is_sent_by_process(received: signal.struct_siginfo) -> bool:
    """What the kernel sends to us alone, such as that we have used up our time, is about us."""
    return received.si_code <= 0


def _look_after(pid: int) -> Ending | None:
    """How it ended, if it did. When the terminal stops it we stop too, so that the shell takes note."""
    while True:
        change = os.waitid(os.P_PID, pid, os.WEXITED | os.WSTOPPED | os.WNOHANG)
        if change is None:
            return None
        now_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        if change.si_code == os.CLD_EXITED:
            return Ending(pid, status=change.si_status, raw_ns=now_ns)
        if change.si_code in (os.CLD_KILLED, os.CLD_DUMPED):
            return Ending(pid, signal=change.si_status, raw_ns=now_ns)
        if change.si_status in _STOPS_OF_TERMINAL:
            os.kill(os.getpid(), signal.SIGSTOP)


def end_like(ending: Ending) -> NoReturn:
    """Leave this process as the program left its own, without a second core dump."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    if not ending.signal:
        os._exit(ending.status)
    _soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (_NO_CORE if hard else 0, hard))
    if ending.signal != signal.SIGKILL:
        signal.signal(ending.signal, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {ending.signal})
    os.kill(os.getpid(), ending.signal)
    os._exit(128 + ending.signal)

"""An agent for a process that was started without one: by `sys.remote_exec`, which is new in Python 3.14."""

from __future__ import annotations

import os
import select
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from kinetograph.errors import NotAvailable
from kinetograph.ondemand.places import captures_directory

__all__ = ["can_start_agents", "start_agent_in"]

# For the other process to come to its next line of Python.
_MOST_SECONDS = 10.0
_LOOK_EVERY_SECONDS = 0.01
_STARTED = "started "
_TAKING_HINT = (
    "it has to run the same version of Python, without PYTHON_DISABLE_REMOTE_DEBUG, and this user must be"
    " allowed to trace it; next time, set KINETOGRAPH_AGENT=1"
)

# Runs there. What comes of it is told in a file, for that process may show nobody what it prints.
_SOURCE = """
import os
try:
    import kinetograph
    told = {started!r} + kinetograph.start_agent()
except BaseException as error:
    told = f"{{type(error).__name__}}: {{error}}"
with open({path!r} + ".tmp", "x", encoding="utf-8", errors="replace") as file:
    file.write(told)
os.rename({path!r} + ".tmp", {path!r})
"""


def can_start_agents() -> bool:
    return hasattr(sys, "remote_exec")


def start_agent_in(pid: int) -> str:
    """The path of its socket, when it has one. Raises what keeps it from that.

    What it is told to run lies in a directory that only this user can enter.
    """
    with _watched(pid) as end, _directory() as directory:
        told = os.path.join(directory, "told")
        # Nothing of it shall be left among the names of the program.
        _write(_script_in(directory), f"exec({_SOURCE.format(path=told, started=_STARTED)!r}, {{}})\n")
        _run(pid, _script_in(directory))
        answer = _awaited(pid, told, end)
    if not answer.startswith(_STARTED):
        raise NotAvailable(
            f"process {pid} could start no agent: {answer}", hint="is kinetograph installed for its Python?"
        )
    return answer.removeprefix(_STARTED)


class _Late(NotAvailable):
    """It may still come to what it was told to run."""


@contextmanager
def _watched(pid: int) -> Iterator[int]:
    """A descriptor that can be read once the process has ended, whether its parent has noticed or not."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError as error:
        raise NotAvailable(f"process {pid} has ended") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _directory() -> Iterator[str]:
    """It is gone afterwards, but for a process that is late: it finds a file that does nothing.

    That one is removed with the traces that nobody fetched.
    """
    directory = tempfile.mkdtemp(prefix="start-", dir=captures_directory())
    try:
        yield directory
    except (_Late, KeyboardInterrupt):
        nothing = os.path.join(directory, "nothing")
        _write(nothing, "")
        os.replace(nothing, _script_in(directory))
        raise
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    shutil.rmtree(directory, ignore_errors=True)


def _script_in(directory: str) -> str:
    return os.path.join(directory, "start.py")


def _write(path: str, text: str) -> None:
    with open(path, "x", encoding="utf-8") as file:
        file.write(text)


def _run(pid: int, script: str) -> None:
    run = getattr(sys, "remote_exec")  # noqa: B009  (older ones have none)
    try:
        run(pid, script)
    except (OSError, RuntimeError, ValueError) as error:
        raise NotAvailable(
            f"process {pid} takes no agent from outside: {error}",
            hint=_TAKING_HINT,
        ) from error


def _awaited(pid: int, told: str, end: int) -> str:
    """What the process has told."""
    ending = select.poll()
    ending.register(end, select.POLLIN)
    give_up = time.monotonic() + _MOST_SECONDS
    while not os.path.exists(told):
        if ending.poll(_LOOK_EVERY_SECONDS * 1000) and not os.path.exists(told):
            raise NotAvailable(f"process {pid} has ended")
        if time.monotonic() > give_up:
            raise _Late(
                f"process {pid} has not come to a line of Python within {_MOST_SECONDS:g} s",
                hint="its main thread waits, or computes in C: ask again while it has something to do",
            )
    with open(told, encoding="utf-8") as file:
        return file.read()

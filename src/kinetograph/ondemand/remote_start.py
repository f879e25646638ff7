"""An agent for a process that was started without one: by `sys.remote_exec`, which is new in Python 3.14."""

from __future__ import annotations

import os
import sys
import tempfile
import time

from kinetograph.errors import NotAvailable
from kinetograph.ondemand.places import captures_directory

__all__ = ["can_start_agents", "start_agent_in"]

# For the other process to come to its next line of Python.
_MOST_SECONDS = 10.0
_LOOK_EVERY_SECONDS = 0.01

# Runs there. What goes wrong is told in a file, for that process may show nobody what it prints.
_SOURCE = """
import os
told = ""
try:
    import kinetograph
    kinetograph.start_agent()
except BaseException as error:
    told = f"{{type(error).__name__}}: {{error}}"
with open({told!r} + ".tmp", "x", encoding="utf-8", errors="replace") as file:
    file.write(told)
os.rename({told!r} + ".tmp", {told!r})
"""


def can_start_agents() -> bool:
    return hasattr(sys, "remote_exec")


def start_agent_in(pid: int) -> None:
    """Returns when it has one. Raises what keeps it from that.

    What it is told to run lies in a directory that only this user can enter, and is gone afterwards.
    """
    with tempfile.TemporaryDirectory(prefix="start-", dir=captures_directory()) as directory:
        told, script = os.path.join(directory, "told"), os.path.join(directory, "start.py")
        with open(script, "x", encoding="utf-8") as file:
            # Nothing of it shall be left among the names of the program.
            file.write(f"exec({_SOURCE.format(told=told)!r}, {{}})\n")
        _run(pid, script)
        failure = _awaited(pid, told)
    if failure:
        raise NotAvailable(
            f"process {pid} could start no agent: {failure}", hint="is kinetograph installed for its Python?"
        )


def _run(pid: int, script: str) -> None:
    run = getattr(sys, "remote_exec")  # noqa: B009  (older ones have none)
    try:
        run(pid, script)
    except (OSError, RuntimeError, ValueError) as error:
        raise NotAvailable(
            f"process {pid} takes no agent from outside: {error}",
            hint="it has to run the same version of Python, and this user must be allowed to trace it",
        ) from error


def _awaited(pid: int, told: str) -> str:
    """What the process has told: what failed, or nothing."""
    give_up = time.monotonic() + _MOST_SECONDS
    while not os.path.exists(told):
        if not os.path.exists(f"/proc/{pid}"):
            raise NotAvailable(f"process {pid} has ended")
        if time.monotonic() > give_up:
            raise NotAvailable(
                f"process {pid} has not started an agent within {_MOST_SECONDS:g} s",
                hint="does it wait in C, where it runs no Python?",
            )
        time.sleep(_LOOK_EVERY_SECONDS)
    with open(told, encoding="utf-8") as file:
        return file.read()

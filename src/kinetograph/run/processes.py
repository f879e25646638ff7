"""The processes that belong to a run, whether they record or not: they carry its variable."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from typing import NamedTuple

from kinetograph.run.directory import VARIABLE, RunDirectory

__all__ = ["Member", "members"]

_PYTHON = re.compile(r"python|pypy")


class Member(NamedTuple):
    """A process that was started by the program, or by one of its children."""

    pid: int
    name: str
    """Of its executable."""
    age_seconds: float
    is_busy: bool
    """Runs or would, as a process does that starts; one that waits for something has started."""
    has_variables: bool = True
    """False where whose it is cannot be seen, or not yet."""

    @property
    def is_python(self) -> bool:
        return _PYTHON.search(self.name) is not None


def members(directory: RunDirectory, *, or_starting: bool = False) -> Iterator[Member]:
    """Those that can be seen; a zombie, and a process of another user, cannot.

    `or_starting`: also those without variables, for what is being executed just now shows none yet.
    """
    begin = os.fsencode(f"{VARIABLE}={directory.path}")
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                variables = _variables(name)
                if any(_belongs(variable, begin) for variable in variables):
                    yield _described(name)
                elif or_starting and variables == [b""]:
                    yield _described(name)._replace(has_variables=False)
            except (OSError, ValueError):
                continue  # it has ended, is not ours to look at, or runs nothing: a thread of the kernel


def _belongs(variable: bytes, begin: bytes) -> bool:
    """Also to a run inside this run, whose directory lies in ours."""
    return variable == begin or variable.startswith(begin + b"/")


def _variables(pid: str) -> list[bytes]:
    with open(f"/proc/{pid}/environ", "rb") as file:
        return file.read().split(b"\0")


def _described(pid: str) -> Member:
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - started
    name = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    return Member(int(pid), name, age, is_busy=fields[0] in (b"R", b"D"))

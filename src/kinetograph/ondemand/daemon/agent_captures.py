"""Captures of processes with an agent, for those who wait for a file and hear nothing in between."""

from __future__ import annotations

import asyncio
import gzip
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from kinetograph.errors import KinetographError
from kinetograph.ondemand.capture import Outcome, capture
from kinetograph.ondemand.peers import Abandoned
from kinetograph.ondemand.places import captures_directory
from kinetograph.ondemand.processes import AgentProcess, processes
from kinetograph.ondemand.request import CaptureRequest

__all__ = ["AgentCaptures", "ancestors", "job_number"]

# Each has a thread.
_MOST_AT_ONCE = 64
# As many as Kineto looks at.
_MOST_ANCESTORS = 10


class AgentCaptures:
    """One at a time of each process. `tell` hears of those that gave no file: nobody else would."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._running: dict[int, tuple[asyncio.Task[None], socket.socket]] = {}

    async def matching(self, job: int, pids: set[int]) -> list[AgentProcess]:
        """Of this host and user. Meant by its own pid, or by that of an ancestor: as dynolog has it."""
        return [
            process
            for process in await asyncio.to_thread(processes, _ignore)
            if process.recorder != "kineto"
            and job_number(process.job) == job
            and (not pids or pids & {process.pid, *ancestors(process.pid)})
        ]

    def is_busy(self, process: AgentProcess) -> bool:
        return process.state != "idle" or process.pid in self._running or len(self._running) >= _MOST_AT_ONCE

    def begin(self, process: AgentProcess, request: CaptureRequest, path: str) -> None:
        """The trace of it shall be `path`, which is not there yet."""
        ours, theirs = socket.socketpair()
        task = asyncio.create_task(self._capture(process, request, path, theirs))
        self._running[process.pid] = task, ours

    async def close(self) -> None:
        """Captures end, and what was recorded stays with the processes."""
        running = [*self._running.values()]
        for _task, withdrawal in running:
            withdrawal.close()
        await asyncio.gather(*(task for task, _withdrawal in running), return_exceptions=True)

    async def _capture(
        self, process: AgentProcess, request: CaptureRequest, path: str, withdrawal: socket.socket
    ) -> None:
        reason = ""
        try:
            reason = await asyncio.to_thread(_captured, process, request, path, withdrawal)
        except Abandoned:
            pass
        except (KinetographError, OSError) as error:  # no directory for it, or no descriptor
            reason = str(error)
        finally:
            withdrawal.close()
            self._running.pop(process.pid)[1].close()
        if reason:
            self._tell(f"process {process.pid} gave no trace to a client of dynolog: {reason}")


def _captured(process: AgentProcess, request: CaptureRequest, path: str, withdrawal: socket.socket) -> str:
    """In a thread of its own. Gives the reason why there is no file at `path`; empty if there is one."""
    directory = tempfile.mkdtemp(prefix="dynolog-", dir=captures_directory())
    try:
        outcome = _outcome(process, request, directory, withdrawal)
        if outcome.path is None:
            return outcome.reason or outcome.status
        # What the umask of a dead process was nobody knows.
        _put(outcome.path, path, 0o600 if outcome.status == "rescued" else _mode_of(outcome.path))
        shutil.rmtree(directory, ignore_errors=True)
    except OSError as error:
        return f"{error.strerror}; what was recorded stays in {directory}"
    finally:
        with suppress(OSError):
            os.rmdir(directory)
    return ""


def _outcome(
    process: AgentProcess, request: CaptureRequest, directory: str, withdrawal: socket.socket
) -> Outcome:
    """Where CUDA cannot be recorded, Kineto records without it, and so do we."""
    (outcome,) = capture([process], request, directory, _ignore, withdrawal)
    if outcome.status == "refused" and len(request.activities) > 1:
        without = request.replace(activities=("CPU",))
        (outcome,) = capture([process], without, directory, _ignore, withdrawal)
    return outcome


def _mode_of(trace: str) -> int:
    """As the process made it, by its umask."""
    return os.stat(trace).st_mode & 0o666


def _put(trace: str, path: str, mode: int) -> None:
    """Whole or not at all, never over anything, and through no link: others may write to that directory.

    No more open than `mode`, and than what this daemon makes; its user, who asked, can read it.
    """
    unfinished = f"{path}.tmp"
    with (
        (gzip.open if trace.endswith(".gz") else open)(trace, "rb") as source,
        open(unfinished, "xb", opener=partial(os.open, mode=mode)) as file,
    ):
        try:
            shutil.copyfileobj(source, file)
            file.flush()
            os.link(unfinished, path)
        finally:
            os.unlink(unfinished)


def job_number(job: str | None) -> int:
    """As Kineto reads the id of a job: the digits that it begins with."""
    digits = re.match(r"\d{1,18}", job or "", re.ASCII)
    return int(digits[0]) if digits else 0


def ancestors(pid: int) -> Iterator[int]:
    """Without the first process of the system, which everybody descends from."""
    for _ in range(_MOST_ANCESTORS):
        pid = _parent(pid)
        if pid <= 1:
            return
        yield pid


def _parent(pid: int) -> int:
    try:
        # Behind the name of the program, which may have anything in it.
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def _ignore(_text: str) -> None:
    pass

"""Waiting for the processes of a run that outlive the program, as long as that is reasonable."""

from __future__ import annotations

import time

from kinetograph.run.collect import SessionFile, Tell
from kinetograph.run.directory import RunDirectory
from kinetograph.run.processes import Member, members
from kinetograph.trace.words import counted

__all__ = ["silent_processes", "starting_processes", "wait_until_ended"]

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.002, 0.1
# How long a process may take until it records; another than Python, until it executes Python.
_PYTHON_STARTS_SECONDS, _OTHERS_START_SECONDS = 5, 1


def wait_until_ended(directory: RunDirectory, seconds: float, tell: Tell) -> None:
    """Give the processes that the program has left, and those that are only starting, time to end."""
    deadline, pause = time.monotonic() + seconds, _FIRST_PAUSE_SECONDS
    running = _Running(directory)
    while time.monotonic() < deadline:
        pids = running.pids()
        pids |= {process.pid for process in starting_processes(directory, pids)}
        if not pids:
            return
        told = ", ".join(map(str, sorted(pids)))
        tell(f"waiting for {counted(len(pids), 'process')} still running ({told}); Ctrl-C to go on")
        time.sleep(min(pause, max(0, deadline - time.monotonic())))
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


def starting_processes(directory: RunDirectory, recording: set[int]) -> list[Member]:
    """Those that do not record yet and may soon; `recording` are the pids of those that do."""
    known = recording | set(directory.reasons())
    # A program goes on as soon as its child is being executed, and may end before that shows whose it is.
    found = members(directory, or_starting=True)
    return [process for process in found if process.pid not in known and _is_starting(process)]


def _is_starting(process: Member) -> bool:
    if not process.has_variables:
        return process.is_busy and process.age_seconds < _PYTHON_STARTS_SECONDS
    if not process.is_python:
        return process.age_seconds < _OTHERS_START_SECONDS
    # On a machine with much to do it may take longer.
    return process.age_seconds < _PYTHON_STARTS_SECONDS or process.is_busy


def silent_processes(directory: RunDirectory, recorded: set[int]) -> list[Member]:
    """Pythons that run and have recorded nothing: started without site packages, or not ready in time."""
    known = recorded | set(directory.reasons())
    return [process for process in members(directory) if process.is_python and process.pid not in known]


class _Running:
    """Which processes record. A file whose process has ended is not looked at again: there may be many."""

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory
        self._ended: set[str] = set()

    def pids(self) -> set[int]:
        found = set()
        for path in set(self._directory.session_files()) - self._ended:
            try:
                file = SessionFile.of(path)
            except (OSError, RuntimeError):
                continue  # it is being made, and its process is seen to start, or it is no session file
            if file.is_in_use:
                found.add(file.pid)
            else:
                self._ended.add(path)
        return found

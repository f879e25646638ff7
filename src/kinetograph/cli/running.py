"""The part of `kinetograph run` after the program: make the trace, save it, say so."""

from __future__ import annotations

import os
from contextlib import suppress

from kinetograph.cli.progress import progress
from kinetograph.cli.report import print_top
from kinetograph.errors import KinetographError, tell_on_stderr
from kinetograph.run.collect import Collected, SessionFile
from kinetograph.run.directory import RunDirectory
from kinetograph.run.interruption import Interrupted, interruptible
from kinetograph.run.launcher import Ending
from kinetograph.run.program import ProgramRun, made_trace
from kinetograph.run.waiting import wait_until_ended
from kinetograph.trace import Trace
from kinetograph.trace.words import counted

__all__ = ["RunReport"]


class RunReport:
    """Where the trace goes and how much is said of it."""

    def __init__(self, path: str, is_quiet: bool, rows: int, wait_seconds: float) -> None:
        self._path = path
        self._is_quiet = is_quiet
        self._rows = rows
        self._wait_seconds = wait_seconds

    def make(self, started: ProgramRun, ending: Ending) -> None:
        """Never raises: the launcher shall end as the program did. What was recorded stays if it fails."""
        try:
            made = self._save(started, ending)
        except KinetographError as error:
            _say(f"{error}{_kept(started.directory)}")
        except Interrupted as interrupted:
            _say(f"the trace was not made, for {interrupted} came{_kept(started.directory)}")
        except Exception as error:
            _say(f"the trace was not made, {type(error).__name__}: {error}{_kept(started.directory)}")
        else:
            self._finish(started, made)

    def _save(self, started: ProgramRun, ending: Ending) -> Collected:
        with progress(self._is_quiet) as tell:
            with suppress(Interrupted), interruptible():
                wait_until_ended(started.directory, self._wait_seconds, tell)
            with interruptible():
                made = made_trace(started.directory, started.settings, tell, ending=ending)
                tell(f"writing {counted(len(made.trace), 'event')} to {self._path}")
            before = _file_at(self._path)
            try:
                with interruptible():
                    made.trace.save(self._path)
            except Interrupted:
                if _file_at(self._path) == before:
                    raise
        return made

    def _finish(self, started: ProgramRun, made: Collected) -> None:
        """Whatever goes wrong from here on, there is a trace."""
        try:
            if not started.is_inner:
                with suppress(OSError):
                    started.directory.remove_files({file.path for file in made.running})
            with suppress(Interrupted), interruptible():
                self._tell(made.trace, made.running, started.directory.path)
        except Exception as error:
            _say(f"the trace is in {self._path}, but not told of, {type(error).__name__}: {error}")

    def _tell(self, trace: Trace, running: list[SessionFile], directory: str) -> None:
        if running:
            pids = ", ".join(str(file.pid) for file in running)
            _say(f"still running and recording to {directory}: {pids}")
        if self._is_quiet:
            return
        processes = {process["pid"] for process in trace.metadata["processes"]}
        _say(f"the trace of {counted(len(processes), 'process')} is in {self._path}")
        print_top(trace, self._rows)


def _kept(directory: RunDirectory) -> str:
    """A line on what a trace can still be made of; nothing if there is nothing."""
    with suppress(OSError):
        if directory.session_files():
            return f"\nwhat was recorded is in {directory.path}: kinetograph recover {directory.path}"
    return ""


def _file_at(path: str) -> tuple[int, int] | None:
    """Another one when something has been saved there: a file is written beside its target."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _say(text: str) -> None:
    with suppress(OSError):
        tell_on_stderr(text)

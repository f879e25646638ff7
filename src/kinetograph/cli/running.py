"""The part of `kinetograph run` after the program: make the trace, save it, say so."""

from __future__ import annotations

from contextlib import suppress

from kinetograph.cli.progress import progress
from kinetograph.cli.report import print_top
from kinetograph.errors import KinetographError, tell_on_stderr
from kinetograph.run.collect import SessionFile
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
        kept = (
            f"what was recorded is in {started.directory.path}: kinetograph recover {started.directory.path}"
        )
        try:
            self._make(started, ending)
        except KinetographError as error:
            _say(f"{error}\n{kept}" if started.directory.session_files() else str(error))
        except Interrupted as interrupted:
            _say(f"the trace was not made, for {interrupted} came; {kept}")
        except Exception as error:
            _say(f"the trace was not made, {type(error).__name__}: {error}\n{kept}")

    def _make(self, started: ProgramRun, ending: Ending) -> None:
        with progress(self._is_quiet) as tell:
            with suppress(Interrupted), interruptible():
                wait_until_ended(started.directory, self._wait_seconds, tell)
            with interruptible():
                trace, running = made_trace(started.directory, started.settings, tell, ending=ending)
                tell(f"writing {counted(len(trace), 'event')} to {self._path}")
                trace.save(self._path)
        if not started.is_inner:
            with suppress(OSError):
                started.directory.remove_files({file.path for file in running})
        with suppress(Interrupted), interruptible():
            self._tell(trace, running, started.directory.path)

    def _tell(self, trace: Trace, running: list[SessionFile], directory: str) -> None:
        if running:
            pids = ", ".join(str(file.pid) for file in running)
            _say(f"still running and recording to {directory}: {pids}")
        if self._is_quiet:
            return
        processes = {process["pid"] for process in trace.metadata["processes"]}
        _say(f"the trace of {counted(len(processes), 'process')} is in {self._path}")
        print_top(trace, self._rows)


def _say(text: str) -> None:
    with suppress(OSError):
        tell_on_stderr(text)

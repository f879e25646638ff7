"""A run from begin to end: make its directory, start the program, make the trace, clear up."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from kinetograph.errors import KinetographError
from kinetograph.run.collect import Reading, SessionFile, Tell, Trimmer, trace_of, wait_until_ended
from kinetograph.run.command import python_command
from kinetograph.run.directory import VARIABLE, RunDirectory
from kinetograph.run.hook import require_hook
from kinetograph.run.launcher import Ending, run_and_wait
from kinetograph.run.settings import RunSettings
from kinetograph.session.activity import activity_set
from kinetograph.session.availability import require_available
from kinetograph.session.ranks import rank_from_environment
from kinetograph.session.recording import describe
from kinetograph.trace import Trace

__all__ = ["ProgramRun", "made_trace"]


class ProgramRun:
    """One call of `kinetograph run`.

    >>> run = ProgramRun(RunSettings(), ["app.py"], is_module=False)
    >>> ending = run.start_and_wait()
    >>> trace = made_trace(run.directory, run.settings, print)
    """

    def __init__(
        self, settings: RunSettings, program: Sequence[str], *, is_module: bool, parent: str | None = None
    ) -> None:
        """Raises if what is asked for is wrong or not available here; nothing has happened then."""
        self.settings = settings
        self.command = python_command(program, is_module=is_module)
        require_hook(self.command)
        require_available(settings.config(), activity_set(settings.activities))
        self.directory = RunDirectory(_make_directory(parent))
        self.directory.write_settings(settings.to_json())

    def start_and_wait(self) -> Ending:
        try:
            environment = os.environ | {VARIABLE: self.directory.path}
            return run_and_wait(self.command, environment, Trimmer(self.directory).trim)
        except OSError as error:
            raise KinetographError(f"cannot start {self.command[0]}: {error.strerror}") from error


class Collected(NamedTuple):
    """The trace, and the processes whose recording goes on."""

    trace: Trace
    running: list[SessionFile]


def made_trace(
    directory: RunDirectory,
    settings: RunSettings,
    tell: Tell,
    *,
    ending: Ending | None = None,
    wait_seconds: float = 0,
) -> Collected:
    """One trace of what the processes of a run have recorded until now, and how the program ended."""
    running = wait_until_ended(directory, wait_seconds, tell)
    ended_raw_ns = {} if ending is None else {ending.pid: ending.raw_ns}
    keep_ns = int((settings.ring_seconds or 0) * 1e9)
    reading = Reading(settings.memory_limit_bytes, keep_ns, ended_raw_ns, settings.traced_depth)
    trace = trace_of(directory, tell, reading)
    if ending is not None and ending.signal:
        trace.add_note("ended", f"the program, process {ending.pid}, {ending}")
    describe(trace, settings.config())
    rank = rank_from_environment()
    if rank is not None and rank.world_size is not None:
        trace.metadata["distributedInfo"] = {
            "backend": "",
            "rank": rank.number,
            "world_size": rank.world_size,
        }
    return Collected(trace, running)


def _make_directory(parent: str | None) -> str:
    """Only this user may read what a program does."""
    if parent is None:
        parent = os.path.join(tempfile.gettempdir(), f"kinetograph-{os.getuid()}")
        with suppress(FileExistsError):
            os.mkdir(parent, 0o700)
        if os.lstat(parent).st_uid != os.getuid():
            raise KinetographError(f"{parent} belongs to another user", hint="name one with --session-dir")
    try:
        return tempfile.mkdtemp(prefix=f"run-{time.strftime('%Y%m%d-%H%M%S')}-", dir=parent)
    except OSError as error:
        raise KinetographError(f"cannot make a directory in {parent}: {error.strerror}") from error

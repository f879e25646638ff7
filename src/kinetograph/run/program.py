"""A run from begin to end: make its directory, start the program, make the trace, clear up."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from kinetograph.errors import KinetographError, UsageError
from kinetograph.injection import run_variables
from kinetograph.run.collect import Collected, Reading, Tell, Trimmer, collect
from kinetograph.run.command import python_command
from kinetograph.run.directory import VARIABLE, RunDirectory, outer_run
from kinetograph.run.hook import require_hook
from kinetograph.run.launcher import Ending, run_and_wait
from kinetograph.run.settings import RunSettings
from kinetograph.run.waiting import silent_processes
from kinetograph.session.activity import activity_set
from kinetograph.session.availability import require_available
from kinetograph.session.ranks import rank_from_environment
from kinetograph.session.recording import describe

__all__ = ["ProgramRun", "made_trace"]

# The file of a process is made so large at once.
_LEAST_FREE_BYTES = 8 << 20
_ANOTHER_DIRECTORY = "name another directory with --session-dir"


class ProgramRun:
    """One call of `kinetograph run`.

    >>> run = ProgramRun(RunSettings(), ["app.py"])
    >>> ending = run.start_and_wait()
    >>> trace = made_trace(run.directory, run.settings, print)
    """

    def __init__(
        self,
        settings: RunSettings,
        program: Sequence[str],
        *,
        form: Literal["-m", "-c"] | None = None,
        parent: str | None = None,
        with_agent: bool = False,
    ) -> None:
        """Raises if what is asked for is wrong or not available here; nothing has happened then."""
        self.settings = settings
        self._with_agent = with_agent
        self.command = python_command(program, form)
        require_hook(self.command)
        require_available(settings.config(), activity_set(settings.activities))
        outer = outer_run()
        self.is_inner = outer is not None
        """Whether another run wants what this one records: its files then lie, and stay, with that one's."""
        self.directory = _make_directory(parent if outer is None else outer.path, settings)

    def start_and_wait(self) -> Ending:
        try:
            environment = os.environ | {VARIABLE: self.directory.path} | run_variables(os.environ)
            if self._with_agent:
                environment["KINETOGRAPH_AGENT"] = "1"
            return run_and_wait(self.command, environment, Trimmer(self.directory).trim)
        except OSError as error:
            raise KinetographError(f"cannot start {self.command[0]}: {error.strerror}") from error


def made_trace(
    directory: RunDirectory, settings: RunSettings, tell: Tell, *, ending: Ending | None = None
) -> Collected:
    """One trace of what the processes of a run have recorded until now, and how the program ended."""
    ended_raw_ns = {} if ending is None else {ending.pid: ending.raw_ns}
    keep_ns = int((settings.ring_seconds or 0) * 1e9)
    reading = Reading(settings.memory_limit_bytes, keep_ns, ended_raw_ns, settings.traced_depth)
    collected = collect(directory, tell, reading)
    trace = collected.trace
    recorded = {process["pid"] for process in trace.metadata["processes"]}
    for process in silent_processes(directory, recorded):
        trace.add_note("unrecorded", f"process {process.pid} ({process.name}) runs and was not recorded")
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
    return collected


def _make_directory(parent: str | None, settings: RunSettings) -> RunDirectory:
    """Only this user may read what a program does."""
    if parent is None:
        parent = os.path.join(tempfile.gettempdir(), f"kinetograph-{os.getuid()}")
        with suppress(FileExistsError):
            os.mkdir(parent, 0o700)
        if os.lstat(parent).st_uid != os.getuid():
            raise UsageError(f"{parent} belongs to another user", hint="name one with --session-dir")
    _require_room(parent)
    prefix = f"run-{time.strftime('%Y%m%d-%H%M%S')}-"
    try:
        # From the root: the program may change its directory before its children look for ours.
        directory = RunDirectory(os.path.abspath(tempfile.mkdtemp(prefix=prefix, dir=parent)))
        directory.write_settings(settings.to_json())
    except OSError as error:
        raise UsageError(
            f"cannot keep what is recorded in {parent}: {error.strerror}", hint=_ANOTHER_DIRECTORY
        ) from error
    return directory


def _require_room(parent: str) -> None:
    free = os.statvfs(parent)
    if free.f_bavail * free.f_frsize < _LEAST_FREE_BYTES:
        raise UsageError(
            f"cannot keep what is recorded in {parent}: the disk is full", hint=_ANOTHER_DIRECTORY
        )

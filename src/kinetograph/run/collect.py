"""From the session files of a run to one trace: all processes, one clock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple

from kinetograph import _native
from kinetograph.errors import KinetographError
from kinetograph.run.directory import RunDirectory
from kinetograph.session.config import CallOptions
from kinetograph.session.inside_kernels import CLOCK, add_records, clocks_of
from kinetograph.session.kernel_records import read_kernel_records
from kinetograph.trace import Trace

__all__ = [
    "Collected",
    "Reading",
    "SessionFile",
    "Tell",
    "Trimmer",
    "collect",
    "merge_session_files",
    "session_files",
]

Tell = Callable[[str], None]
"""Says what is being done, to somebody who is waiting for it."""

# Of the columns of a trace, with some arguments.
_BYTES_PER_EVENT = 128


class SessionFile(NamedTuple):
    """A session file of a run and what it says of its process."""

    path: str
    pid: int
    parent_pid: int
    process_name: str
    command: str
    boot_id: str
    start_ns: int
    wall_offset_ns: int
    bytes: int
    has_ended: bool
    is_in_use: bool

    @classmethod
    def of(cls, path: str) -> SessionFile:
        info = _native.session_file_info(path)
        return cls(path=path, **info)


class Reading(NamedTuple):
    """How session files are read."""

    memory_limit_bytes: int
    keep_ns: int = 0
    """Only the newest of each process; 0 for all."""
    ended_raw_ns: Mapping[int, int] = MappingProxyType({})
    """When processes ended, by CLOCK_MONOTONIC_RAW, as far as somebody has seen it."""
    max_depth: int = CallOptions().traced_depth


class Unreadable(NamedTuple):
    """A file that is no session file, and why."""

    path: str
    reason: str


def session_files(paths: Iterable[str]) -> tuple[list[SessionFile], list[Unreadable]]:
    """In the order their sessions started. One killed at its start may have left no header."""
    files: list[SessionFile] = []
    unreadable: list[Unreadable] = []
    for path in paths:
        try:
            files.append(SessionFile.of(path))
        except (OSError, RuntimeError) as error:
            unreadable.append(Unreadable(path, str(error)))
    return sorted(files, key=lambda file: file.start_ns), unreadable


class Collected(NamedTuple):
    """The trace, and the processes whose recording goes on."""

    trace: Trace
    running: list[SessionFile]


def collect(directory: RunDirectory, tell: Tell, reading: Reading) -> Collected:
    """One trace of all session files; what could not be recorded or read is in its notes."""
    files, unreadable = session_files(directory.session_files())
    if not files:
        raise KinetographError(
            _why_nothing(directory, unreadable), hint="is kinetograph installed in its Python?"
        )
    trace = merge_session_files(files, tell, reading)
    trace.metadata["processes"] = [_description(file) for file in files]
    running = [file for file in files if file.is_in_use]
    for file in running:
        trace.add_note("running", f"process {file.pid} was still running when this trace was made")
    for path, reason in unreadable:
        trace.add_note("unreadable", f"{os.path.basename(path)}: {reason}")
    for pid, reason in directory.reasons().items():
        trace.add_note("unrecorded", f"process {pid} was not recorded: {reason}")
    return Collected(trace, running)


def _why_nothing(directory: RunDirectory, unreadable: list[Unreadable]) -> str:
    reasons = [reason for _path, reason in unreadable]
    reasons += [f"process {pid}: {reason}" for pid, reason in directory.reasons().items()]
    return f"nothing was recorded: {'; '.join(reasons) or 'no process of this run has loaded kinetograph'}"


def merge_session_files(files: list[SessionFile], tell: Tell, reading: Reading) -> Trace:
    """One trace of these, which are in the order of their start."""
    merging = _Merging(os.path.dirname(files[0].path), reading.memory_limit_bytes)
    last_of_pid = {file.pid: file for file in files}
    for number, file in enumerate(files, 1):
        tell(f"reading process {file.pid} ({number} of {len(files)})")
        # A process that executed another program has left several files, and ended with the last.
        is_last = last_of_pid[file.pid] is file
        end_ns = reading.ended_raw_ns.get(file.pid, 0) if is_last else 0
        trace = Trace(_recover(file, files[0], reading, end_ns))
        if is_last:
            _add_kernels(trace, RunDirectory(os.path.dirname(file.path)).kernel_file(file.pid))
        if len(files) == 1:
            return trace
        merging.append(trace, file)
    return merging.finish()


def _add_kernels(trace: Trace, path: str) -> None:
    """What the kernels of a process recorded of themselves, if it has left that."""
    if not os.path.exists(path):
        return
    try:
        add_records(trace, read_kernel_records(path))
    except Exception as error:  # whatever it is that stands there, the rest of the trace is worth more
        trace.add_note("intra_kernel", f"{os.path.basename(path)} cannot be read: {error}")


class _Merging:
    """Merges in memory what is small, and in files of `directory` what is not; that shows on the way."""

    def __init__(self, directory: str, memory_limit_bytes: int) -> None:
        self._directory = directory
        self._most_events = memory_limit_bytes // 4 // _BYTES_PER_EVENT
        self._events = 0
        self._waiting: list[tuple[Trace, SessionFile]] = []
        self._clocks: list[dict[str, Any]] = []
        self._merger: _native.TraceMerger | None = None

    def append(self, trace: Trace, file: SessionFile) -> None:
        self._waiting.append((trace, file))
        self._clocks += clocks_of(trace, f"process {file.pid}")
        self._events += len(trace)
        if self._events > self._most_events:
            self._merge_into(self._directory)

    def finish(self) -> Trace:
        trace = Trace(self._merge_into("").finish())
        if self._clocks:
            trace.metadata[CLOCK] = self._clocks
        return trace

    def _merge_into(self, storage: str) -> _native.TraceMerger:
        merger = self._merger = self._merger or _native.TraceMerger(storage)
        for trace, file in self._waiting:
            merger.append(trace.native, f"process {file.pid}", file.boot_id)
        self._waiting.clear()
        return merger


def _recover(file: SessionFile, first: SessionFile, reading: Reading, end_ns: int) -> _native.Trace:
    """By the wall time of the first process: a step of that clock then moves no process against another."""
    return _native.recover(
        file.path,
        is_never_stopped=True,
        boot_id=first.boot_id,
        wall_offset_ns=first.wall_offset_ns,
        ended_raw_ns=end_ns,
        keep_ns=reading.keep_ns,
        memory_limit_bytes=reading.memory_limit_bytes,
        spill_directory=os.path.dirname(file.path),
        max_depth=reading.max_depth,
    )


class Trimmer:
    """Gives back the disk space that ended processes did not use: 4 MiB each, and some programs fork much.

    >>> trimmer = Trimmer(directory)
    >>> trimmer.trim()
    """

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory
        self._trimmed: set[str] = set()

    def trim(self) -> None:
        """Those that have ended since the last time; a file that cannot be read now is told of later."""
        for path in set(self._directory.session_files()) - self._trimmed:
            with suppress(OSError, RuntimeError):
                if not SessionFile.of(path).is_in_use:
                    self._trimmed.add(path)
                    _native.trim_session_file(path)


def _description(file: SessionFile) -> dict[str, Any]:
    described = {"pid": file.pid, "parent_pid": file.parent_pid, "name": file.process_name}
    return described | {"command": file.command.strip(), "start_ns": file.start_ns}

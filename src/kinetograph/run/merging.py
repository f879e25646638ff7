"""One trace of many: of the ranks of a job, of processes that recorded each for itself."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kinetograph import _native
from kinetograph.errors import KinetographError
from kinetograph.run.collect import Reading, Tell, merge_session_files, session_files
from kinetograph.run.directory import SESSION_SUFFIX
from kinetograph.session.inside_kernels import CLOCK, clocks_of
from kinetograph.trace import Trace, load

__all__ = ["merge_sources"]

_TRACE_SUFFIXES = (".json", ".json.gz", ".pftrace", ".pftrace.gz", ".perfetto-trace", ".perfetto-trace.gz")
# A trace in memory, for each byte of its file.
_BYTES_PER_PLAIN_BYTE, _BYTES_PER_PACKED_BYTE = 0.6, 8


class Source(NamedTuple):
    """A trace, and what it says of its origin."""

    file: str
    trace: Trace
    rank: int | None
    host: str

    @property
    def whose(self) -> str:
        if self.rank is None:
            return self.file
        return f"rank {self.rank} on {self.host}" if self.host else f"rank {self.rank} in {self.file}"

    @property
    def place(self) -> str:
        """Where pids are those of one host, so that a pid which comes again may be the same process.

        Not so in another rank, and of a file that names no host, nobody knows.
        """
        return f"{self.host or self._worker} {self.rank}"

    @property
    def _worker(self) -> str:
        """As `tensorboard_trace_handler` names files, without the time: HOST_PID.TIME.pt.trace.json."""
        return re.sub(r"(\.\d{10,})?(\.pt\.trace)?\.(json|pftrace|perfetto-trace)(\.gz)?$", "", self.file)

    def described(self) -> dict[str, Any]:
        members = {"file": self.file, "host_name": self.host, "processes": len(self.trace.processes)}
        info = self.trace.metadata.get("distributedInfo")
        return members if info is None else members | {"distributedInfo": info}


def merge_sources(sources: Sequence[str], output: str, memory_limit_bytes: int, tell: Tell) -> Trace:
    """One trace of trace files, and of all trace and session files in folders, but `output`.

    What cannot be read is an error if it was named, and left out with a note if it lies in a folder.
    """
    folders = [source for source in sources if os.path.isdir(source)]
    sessions = [source for source in sources if source.endswith(SESSION_SUFFIX)]
    named = [source for source in sources if source not in (*folders, *sessions)]
    found = [path for folder in folders for path in _trace_files(folder, output)]
    paths = list({os.path.realpath(path): path for path in [*named, *found]}.values())
    is_large = sum(map(_built_bytes, paths)) > memory_limit_bytes / 5
    storage = os.path.dirname(os.path.abspath(output)) if is_large else ""
    failures = _Failures([*named, *sessions])
    traces = [*_loaded(paths, storage, failures, tell)]
    for paths in (sessions, *map(_session_files, folders)):
        traces += _recovered(paths, memory_limit_bytes, failures, tell)
    if not traces:
        raise KinetographError(
            "; ".join([f"there is nothing to merge in {', '.join(sources)}", *failures.texts]),
            hint=f"expected files that end in {', '.join((*_TRACE_SUFFIXES, SESSION_SUFFIX))}",
        )
    trace = _merged(traces, storage, tell)
    for failure in failures.texts:
        trace.add_note("unreadable", failure)
    return trace


class _Failures:
    """What could not be read, of that which nobody has named."""

    def __init__(self, named: Sequence[str]) -> None:
        self._named = named
        self.texts: list[str] = []

    def add(self, path: str, error: KinetographError) -> None:
        if path in self._named:
            raise error
        self.texts.append(str(error).splitlines()[0])


def _trace_files(directory: str, output: str) -> list[str]:
    paths = [entry.path for entry in os.scandir(directory) if entry.is_file()]
    return sorted(path for path in paths if path.endswith(_TRACE_SUFFIXES) and not _is_same(path, output))


def _is_same(path: str, other: str) -> bool:
    return os.path.exists(other) and os.path.samefile(path, other)


def _built_bytes(path: str) -> int:
    factor = _BYTES_PER_PACKED_BYTE if path.endswith(".gz") else _BYTES_PER_PLAIN_BYTE
    return int(os.path.getsize(path) * factor)


def _loaded(paths: list[str], storage: str, failures: _Failures, tell: Tell) -> Iterator[Source]:
    names = [os.path.basename(path) for path in paths]
    for number, path in enumerate(paths, 1):
        tell(f"reading {path} ({number} of {len(paths)})")
        try:
            trace = load(path, directory=storage or None)
        except KinetographError as error:
            failures.add(path, error)
        else:
            name = names[number - 1]
            file = name if names.count(name) == 1 else path
            yield Source(file, trace, _rank(trace), str(trace.metadata.get("host_name", "")))


def _session_files(directory: str) -> list[str]:
    return [entry.path for entry in os.scandir(directory) if entry.name.endswith(SESSION_SUFFIX)]


def _recovered(
    paths: list[str], memory_limit_bytes: int, failures: _Failures, tell: Tell
) -> Iterator[Source]:
    files, unreadable = session_files(paths)
    for path, reason in unreadable:
        failures.add(path, KinetographError(reason))
    if files:
        yield Source(
            "session files",
            merge_session_files(files, tell, Reading(memory_limit_bytes)),
            None,
            files[0].boot_id,
        )


def _rank(trace: Trace) -> int | None:
    info = trace.metadata.get("distributedInfo")
    rank = info.get("rank") if isinstance(info, dict) else None
    return rank if isinstance(rank, int) else None


def _merged(sources: list[Source], storage: str, tell: Tell) -> Trace:
    """In the order of ranks, so that what stands once in a file is that of the lowest."""
    sources.sort(key=lambda source: (source.rank is None, source.rank or 0, source.file))
    if len(sources) == 1:
        return sources[0].trace
    described = [source.described() for source in sources]
    clocks = [clock for source in sources for clock in clocks_of(source.trace, source.whose)]
    merger = _native.TraceMerger(storage)
    while sources:
        source = sources.pop(0)  # its memory can go as soon as it is merged
        tell(f"merging {source.whose}")
        merger.append(source.trace.native, source.whose, source.place, is_labelled=True)
    trace = Trace(merger.finish())
    trace.metadata["trace_id"] = os.urandom(16).hex().upper()
    trace.metadata["merged"] = described
    if clocks:
        trace.metadata[CLOCK] = clocks
    return trace

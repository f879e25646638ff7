"""Profiler buffers that are alive, and what sessions take from them.

A session that records has a `Gathering`. It reads the buffers once, at its end; what would be gone by then,
because a buffer is emptied or given up, is read before. Launching a kernel comes by here never.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence

from kinetograph.fork_locks import hold_across_forks
from kinetograph.hints import Any

__all__ = ["HOST", "Contents", "Gathering", "forget_contents", "keep_contents", "name_tasks", "register"]

Read = Callable[[Any], Any]
"""The bytes of a buffer, as far as they are used."""

HOST = -1
"""The number of the device whose memory is the host's."""

Contents = tuple[Any, list[str], int]
"""Bytes, names of tasks, device: as `join_intra_kernel` takes it."""

_lock = threading.RLock()
_gatherings: list[Gathering] = []
_buffers: dict[int, _Registered] = {}
"""By `id`, those that are alive."""
_numbers = itertools.count()


class _Registered:
    """One buffer, which is not kept alive by this."""

    def __init__(self, buffer: Any, read: Read, task_names: list[str], device: int) -> None:
        self.number = next(_numbers)
        self.task_names = task_names
        self.device = device
        self.generation = 0
        """How often it was emptied."""
        self.is_kept = False
        """What it holds has been read since it was emptied last."""
        self._read = read
        key = id(buffer)
        self.reference = weakref.ref(buffer, lambda _gone: _drop(key, self))

    def read(self) -> Contents | None:
        buffer = self.reference()
        if buffer is None:
            return None
        return self._read(buffer), self.task_names, self.device


class Gathering:
    """What one session wants of all buffers that are alive while it records.

    Those of devices, of the host, or both: reading one waits for its device, so that nobody reads in vain.
    """

    def __init__(self, *, on_device: bool = True, on_host: bool = True, limit_bytes: int = 1 << 30) -> None:
        self._on_device = on_device
        self._on_host = on_host
        self._limit_bytes = limit_bytes
        self._kept: dict[tuple[int, int], Contents] = {}
        self._kept_bytes = 0
        self._lost = 0
        self._left_out = 0
        self._errors: list[str] = []
        with _lock:
            _gatherings.append(self)

    def wants(self, buffer: _Registered) -> bool:
        return self._on_host if buffer.device == HOST else self._on_device

    def keep(self, buffer: _Registered, contents: Contents) -> None:
        """What is read later of the same buffer holds this, too, unless it was emptied in between."""
        key = buffer.number, buffer.generation
        self._kept_bytes += _size_bytes(contents) - _size_bytes(self._kept.pop(key, None))
        self._kept[key] = contents
        # A session may be as long as the program, and a buffer be emptied a million times.
        while self._kept_bytes > self._limit_bytes and len(self._kept) > 1:
            self._kept_bytes -= _size_bytes(self._kept.pop(next(iter(self._kept))))
            self._left_out += 1

    def lose(self) -> None:
        self._lost += 1

    def finish(self) -> list[Contents]:
        """Read what is still to be read, and end. Waits for the devices of the buffers."""
        with _lock:
            for buffer in filter(self.wants, list(_buffers.values())):
                self._read(buffer)
        self.close()
        return list(self._kept.values())

    def _read(self, buffer: _Registered) -> None:
        try:
            contents = buffer.read()
        except Exception as error:  # mostly of CUDA, and then all that is asked of it fails
            self._errors.append(f"{type(error).__name__}: {error}")
        else:
            if contents is not None:
                self._kept[buffer.number, buffer.generation] = contents

    def close(self) -> None:
        with _lock:
            if self in _gatherings:
                _gatherings.remove(self)

    def notes(self) -> Iterator[str]:
        if self._lost:
            yield (
                f"{self._lost} profiler buffers were freed before the session ended, with what they held:"
                " keep a reference to them, or use `with ProfilerBuffer(...)`"
            )
        if self._left_out:
            yield (
                f"{self._left_out} times what profiler buffers held before they were reset is left out, the"
                f" oldest first: more than memory_limit_bytes, {self._limit_bytes:,}, would have to be kept"
            )
        for error in self._errors:
            yield f"a profiler buffer could not be read: {error}"


def _size_bytes(contents: Contents | None) -> int:
    return 0 if contents is None else memoryview(contents[0]).nbytes


def register(buffer: Any, read: Read, task_names: Sequence[str] = (), device: int = HOST) -> None:
    """From now on sessions take what kernels write into this buffer, as long as it is alive."""
    with _lock:
        _buffers[id(buffer)] = _Registered(buffer, read, list(task_names), device)


def name_tasks(buffer: Any, task_names: Sequence[str]) -> None:
    """The last names that were given hold."""
    registered = _buffers.get(id(buffer))
    if registered is not None and task_names:
        registered.task_names = list(task_names)


def keep_contents(buffer: Any) -> None:
    """The buffer may be given up or emptied next: read it now for the sessions that record."""
    with _lock:
        registered = _buffers.get(id(buffer))
        if registered is None:
            return
        wanting = [gathering for gathering in _gatherings if gathering.wants(registered)]
        contents = registered.read() if wanting else None
        if contents is not None:
            registered.is_kept = True
            for gathering in wanting:
                gathering.keep(registered, contents)


def forget_contents(buffer: Any) -> None:
    """The buffer has been emptied: what comes now is new."""
    with _lock:
        registered = _buffers.get(id(buffer))
        if registered is not None:
            registered.generation += 1
            registered.is_kept = False


def _drop(key: int, gone: _Registered) -> None:
    with _lock:
        if _buffers.get(key) is not gone:
            return
        del _buffers[key]
        if not gone.is_kept:
            for gathering in _gatherings:
                if gathering.wants(gone):
                    gathering.lose()


def _forget_all() -> None:
    """A forked child has no session, and cannot read what lies on a device."""
    _gatherings.clear()
    _buffers.clear()


hold_across_forks(_lock, _forget_all)

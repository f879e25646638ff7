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

__all__ = ["Contents", "Gathering", "forget_contents", "keep_contents", "name_tasks", "register"]

Read = Callable[[Any], tuple[Any, int]]
"""The bytes of a buffer, as far as they are used, and the number of its device: -1 for host memory."""

Contents = tuple[Any, list[str], int]
"""Bytes, names of tasks, device: as `join_intra_kernel` takes it."""

_lock = threading.RLock()
_gatherings: list[Gathering] = []
_buffers: dict[int, _Registered] = {}
"""By `id`, those that are alive."""
_numbers = itertools.count()


class _Registered:
    """One buffer, which is not kept alive by this."""

    def __init__(self, buffer: Any, read: Read, task_names: list[str]) -> None:
        self.number = next(_numbers)
        self.task_names = task_names
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
        data, device = self._read(buffer)
        return data, self.task_names, device


class Gathering:
    """What one session wants of all buffers that are alive while it records."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, int], Contents] = {}
        self._lost = 0
        self._errors: list[str] = []
        with _lock:
            _gatherings.append(self)

    def keep(self, buffer: _Registered, contents: Contents) -> None:
        """What is read later of the same buffer holds this, too, unless it was emptied in between."""
        self._kept[buffer.number, buffer.generation] = contents

    def lose(self) -> None:
        self._lost += 1

    def finish(self) -> list[Contents]:
        """Read what is still to be read, and end. Waits for the current streams of the buffers' devices."""
        with _lock:
            for buffer in list(_buffers.values()):
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
                self.keep(buffer, contents)

    def close(self) -> None:
        with _lock:
            if self in _gatherings:
                _gatherings.remove(self)

    def unread(self) -> int:
        """How many buffers would be read now."""
        with _lock:
            return len(_buffers) + len(self._kept)

    def notes(self) -> Iterator[str]:
        if self._lost:
            yield (
                f"{self._lost} profiler buffers were freed before the session ended, with what they held:"
                " keep a reference to them, or use `with ProfilerBuffer(...)`"
            )
        for error in self._errors:
            yield f"a profiler buffer could not be read: {error}"


def register(buffer: Any, read: Read, task_names: Sequence[str] = ()) -> None:
    """From now on sessions take what kernels write into this buffer, as long as it is alive."""
    with _lock:
        _buffers[id(buffer)] = _Registered(buffer, read, list(task_names))


def name_tasks(buffer: Any, task_names: Sequence[str]) -> None:
    """The last names that were given hold."""
    registered = _buffers.get(id(buffer))
    if registered is not None and task_names:
        registered.task_names = list(task_names)


def keep_contents(buffer: Any) -> None:
    """The buffer may be given up or emptied next: read it now for the sessions that record."""
    with _lock:
        registered = _buffers.get(id(buffer))
        if not _gatherings or registered is None:
            return
        contents = registered.read()
        if contents is not None:
            registered.is_kept = True
            for gathering in _gatherings:
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
        if _buffers.get(key) is gone:
            del _buffers[key]
        if not gone.is_kept:
            for gathering in _gatherings:
                gathering.lose()


def _forget_all() -> None:
    """A forked child has no session, and cannot read what lies on a device."""
    _gatherings.clear()
    _buffers.clear()


hold_across_forks(_lock, _forget_all)

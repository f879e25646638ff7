"""The processes of PyTorch that poll this daemon, and the request that waits for each."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from kinetograph.ondemand.daemon.kineto_wire import Poll
from kinetograph.session.ranks import rank_from_environment

__all__ = ["KinetoProcess", "KinetoProcesses"]

_MOST_PROCESSES = 4096
# So that none of many users can take all places.
_MOST_OF_ONE_USER = 1024
_MOST_PROC_BYTES = 256 * 1024
_LONGEST_COMMAND = 4096


class KinetoProcess:
    """One that has polled. What it says of itself is believed for its own request only."""

    def __init__(self, pid: int, user: int, poll: Poll) -> None:
        self.pid = pid
        """As the kernel has it here, in contrast to `poll.pids`."""
        self.user = user
        self.poll = poll
        self.address: bytes | str = b""
        self.heard = time.monotonic()
        self.command = _proc_text(pid, "cmdline").replace("\0", " ").strip()[:_LONGEST_COMMAND]
        rank = rank_from_environment(_environment(pid))
        self.rank = None if rank is None else rank.number
        self.ended = asyncio.Event()
        self._config = ""
        self._on_fetched: Callable[[], None] | None = None

    @property
    def job(self) -> str | None:
        return str(self.poll.job) if self.poll.job else None

    @property
    def own_pid(self) -> int:
        """As it knows itself, and writes into the names of its files."""
        return self.poll.pids[0]

    @property
    def is_busy(self) -> bool:
        return bool(self._config) or not self.poll.is_idle

    @property
    def is_ended(self) -> bool:
        return self.ended.is_set()

    def finish(self) -> None:
        """Its file is there, which is known before its next poll."""
        self.poll = self.poll.idle()

    def is_meant_by(self, pids: set[int]) -> bool:
        """By its own pid, or by that of an ancestor: as dynolog has it."""
        return not pids or bool(pids & {self.pid, *self.poll.pids})

    def offer(self, config: str, on_fetched: Callable[[], None] | None = None) -> None:
        """For the next poll that asks for it."""
        self._config, self._on_fetched = config, on_fetched

    def withdraw(self) -> bool:
        """False if it has been fetched."""
        was_there, self._config = bool(self._config), ""
        return was_there

    @property
    def offered(self) -> str:
        """What its poll is answered: the request, or nothing."""
        return self._config if self.poll.is_idle else ""

    def take(self) -> None:
        """The answer is on its way, and is given once."""
        config, self._config = self._config, ""
        if config and self._on_fetched is not None:
            self._on_fetched()


class KinetoProcesses:
    """All of them, by pid. One that ends is told of at once, by the kernel."""

    def __init__(
        self, on_polled: Callable[[KinetoProcess], None], on_ended: Callable[[KinetoProcess], None]
    ) -> None:
        self._on_polled = on_polled
        self._on_ended = on_ended
        self._known: dict[int, KinetoProcess] = {}
        self._watched: dict[int, int] = {}  # descriptors that tell of the end, by pid

    def __iter__(self) -> Iterator[KinetoProcess]:
        return iter([*self._known.values()])

    def polled(self, pid: int, user: int, poll: Poll, address: bytes | str) -> KinetoProcess | None:
        """The process that has just polled; None if it is gone, or one too many."""
        process = self._known.get(pid) or self._added(pid, user, poll)
        if process is not None:
            process.poll, process.address, process.heard = poll, address, time.monotonic()
            self._on_polled(process)
        return process

    def close(self) -> None:
        for pid in [*self._known]:
            self._remove(pid)

    def _added(self, pid: int, user: int, poll: Poll) -> KinetoProcess | None:
        of_this_user = sum(known.user == user for known in self._known.values())
        if len(self._known) >= _MOST_PROCESSES or of_this_user >= _MOST_OF_ONE_USER:
            return None
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            return None
        process = self._known[pid] = KinetoProcess(pid, user, poll)
        self._watched[pid] = descriptor
        asyncio.get_running_loop().add_reader(descriptor, self._remove, pid)
        return process

    def _remove(self, pid: int) -> None:
        descriptor = self._watched.pop(pid)
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)
        process = self._known.pop(pid)
        process.ended.set()
        self._on_ended(process)


def _environment(pid: int) -> Mapping[str, str]:
    """As it was started with. Empty for a process of somebody else."""
    pairs = (text.partition("=") for text in _proc_text(pid, "environ").split("\0"))
    return {name: value for name, _, value in pairs}


def _proc_text(pid: int, name: str) -> str:
    with suppress(OSError), open(f"/proc/{pid}/{name}", "rb") as file:
        return file.read(_MOST_PROC_BYTES).decode(errors="replace")
    return ""

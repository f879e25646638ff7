"""One capture of a process of PyTorch: a text that it fetches, and a file that appears some time later.

Kineto tells nothing in between, so what is told here is what can be seen: polls, and files.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import BinaryIO

from kinetograph.errors import KinetographError
from kinetograph.ondemand.daemon.kineto_config import config_for, file_of_process
from kinetograph.ondemand.daemon.kineto_processes import KinetoProcess
from kinetograph.ondemand.leftovers import MOST_BYTES
from kinetograph.ondemand.places import captures_directory
from kinetograph.ondemand.request import CaptureRequest

__all__ = ["KinetoCapture"]

Answer = Callable[..., Awaitable[None]]

_LOOK_EVERY_SECONDS = 0.05
_TELL_EVERY_SECONDS = 0.5
# After which one that has fetched the request would have begun, and after which one has polled for sure.
_MOST_BEFORE_BEGIN_SECONDS = 30
_MOST_BEFORE_POLL_SECONDS = 60
_MOST_WRITING_SECONDS = 600
_PIECE_BYTES = 1 << 20


class KinetoCapture:
    def __init__(self, process: KinetoProcess, directory: Callable[[], str]) -> None:
        self._process = process
        self._directory = directory
        self.state = "waiting for its poll"
        self._path = ""
        self._since = time.monotonic()
        self._cancelled = asyncio.Event()
        self._is_abandoned = False

    def cancel(self) -> None:
        self._cancelled.set()

    def abandon(self) -> None:
        """Nobody waits for it any more. A file that comes all the same stays."""
        self._is_abandoned = True
        self._cancelled.set()

    async def run(self, payload: bytes, answer: Answer) -> dict[str, object]:
        """Gives the last answer; those before it go to `answer`."""
        process = self._process
        try:
            request = CaptureRequest.from_json(payload)
            # What goes before the pid is ours alone, so no file is there already.
            name = os.path.join(self._directory(), f"kineto-{os.urandom(8).hex()}.json")
            config = config_for(request, name)
        except (KinetographError, OSError) as error:
            return _refusal(error)
        if process.is_busy:
            return {"answer": "refused", "reason": "PyTorch is recording this process already"}
        self._path = file_of_process(name, process.own_pid)
        process.offer(config, self._on_fetched)
        try:
            await answer("accepted", path=self._path, step=0, notes=[])
            return await self._followed(request, answer)
        finally:
            process.withdraw()

    def _on_fetched(self) -> None:
        self._enter("waiting")

    def _enter(self, state: str) -> None:
        self.state, self._since = state, time.monotonic()

    async def _followed(self, request: CaptureRequest, answer: Answer) -> dict[str, object]:
        told = time.monotonic()
        while True:
            if self._cancelled.is_set():
                return self._withdrawn()
            if os.path.lexists(self._path):
                return await asyncio.to_thread(self._finished)
            if self._process.is_ended:
                return self._ended()
            late = self._is_late(request)
            if late:
                return {"answer": "failed", "reason": late}
            if self.state == "waiting" and os.path.lexists(self._unfinished):
                self._enter("recording")
                await answer("started", start_ns=None, session_file=None)
            if time.monotonic() - told >= _TELL_EVERY_SECONDS:
                told = time.monotonic()
                elapsed_ns = int((told - self._since) * 1e9)
                await answer("progress", state=self.state, step=0, elapsed_ns=elapsed_ns)
            await asyncio.sleep(_LOOK_EVERY_SECONDS)

    @property
    def _unfinished(self) -> str:
        """What Kineto writes before it gives the file its name."""
        return f"{self._path}.tmp"

    def _is_late(self, request: CaptureRequest) -> str:
        """Why nothing comes any more; empty as long as something may."""
        waited = time.monotonic() - self._since
        if self.state == "waiting for its poll":
            return "it polls no more: is it stopped?" if waited > _MOST_BEFORE_POLL_SECONDS else ""
        if request.starts_at_step:  # which may come at any time
            return ""
        if self.state == "waiting":
            start_in = max(0.0, (request.start_time_ns or 0) / 1e9 - time.time())
            not_taken = "PyTorch has not begun: KINETO_LOG_LEVEL=1 in its environment has it say why"
            return not_taken if waited > _MOST_BEFORE_BEGIN_SECONDS and not start_in else ""
        most = request.window_ns / 1e9 + _MOST_BEFORE_BEGIN_SECONDS + _MOST_WRITING_SECONDS
        return "PyTorch has not finished its file" if waited > most else ""

    # What came of it

    def _finished(self) -> dict[str, object]:
        self._process.finish()
        try:
            path = self._own_copy() if self._process.user != os.geteuid() else self._path
            size_bytes = os.path.getsize(path)
        except (KinetographError, OSError) as error:
            reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
            return {"answer": "failed", "reason": f"its file cannot be taken: {reason}"}
        return {"answer": "finished", "path": path, "size_bytes": size_bytes, "notes": []}

    def _own_copy(self) -> str:
        """Of a file that another user wrote, who may have put a link there to what only we can read."""
        descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as source:
            found = os.fstat(source.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_uid != self._process.user or found.st_nlink != 1:
                raise OSError(0, "it is no file of that process")
            if found.st_size > MOST_BYTES:  # holes in it take no room of theirs, and would of ours
                raise OSError(0, f"it has more than {MOST_BYTES >> 30} GiB")
            path = os.path.join(captures_directory(), os.path.basename(self._path))
            with open(path, "xb") as copy:
                _copy(source, copy, found.st_size)
        os.unlink(self._path)
        return path

    def _ended(self) -> dict[str, object]:
        with suppress(OSError):
            os.unlink(self._unfinished)
        reason = "the process ended in the middle of it, and PyTorch keeps nothing of a recording then"
        return {"answer": "failed", "reason": reason}

    def _withdrawn(self) -> dict[str, object]:
        """One that has begun cannot be told to stop: its file goes when it comes."""
        if not self._process.withdraw() and not self._is_abandoned:
            task = asyncio.get_running_loop().create_task(self._remove_when_there())
            _removing.add(task)
            task.add_done_callback(_removing.discard)
        return {"answer": "cancelled", "reason": "cancelled"}

    async def _remove_when_there(self) -> None:
        give_up = time.monotonic() + _MOST_WRITING_SECONDS
        while time.monotonic() < give_up and not self._process.is_ended:
            with suppress(OSError):
                os.unlink(self._path)
                return
            await asyncio.sleep(1)
        with suppress(OSError):
            os.unlink(self._unfinished)


# The loop itself keeps no task alive.
_removing: set[asyncio.Task[None]] = set()


def _copy(source: BinaryIO, copy: BinaryIO, size_bytes: int) -> None:
    """So much and no more, though its owner may go on writing."""
    while size_bytes and (piece := source.read(min(size_bytes, _PIECE_BYTES))):
        copy.write(piece)
        size_bytes -= len(piece)


def _refusal(error: Exception) -> dict[str, object]:
    reason, _, hint = str(error).partition("\nhint: ")
    return {"answer": "refused", "reason": reason[:1000], "hint": hint[:1000]}

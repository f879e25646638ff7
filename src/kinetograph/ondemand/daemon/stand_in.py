"""The socket of an agent, for a process of PyTorch: so `ps` and `capture` need not know the difference."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from kinetograph.errors import KinetographError
from kinetograph.ondemand.daemon.guests import Guests
from kinetograph.ondemand.daemon.kineto_capture import KinetoCapture
from kinetograph.ondemand.daemon.kineto_processes import KinetoProcess
from kinetograph.ondemand.frames import Frame, close, read_frame, send_answer
from kinetograph.ondemand.peers import credentials
from kinetograph.ondemand.places import KINETO_PREFIX, SOCKET_SUFFIX, socket_directory

__all__ = ["StandIn"]

_MOST_VISITORS = 32
_BETWEEN_FRAMES_SECONDS = 30.0
_PROTOCOL = 1
# Some polls long, whatever their interval is set to within reason.
_MOST_SILENCE_SECONDS = 30.0


class StandIn:
    """Lives as long as its process is known."""

    def __init__(self, process: KinetoProcess, captures: Callable[[], str]) -> None:
        """`captures` gives the directory for files, made again where it is gone."""
        self._process = process
        self._captures = captures
        self._capture: KinetoCapture | None = None
        self._guests = Guests(_MOST_VISITORS, _is_this_user)
        self._open()

    def _open(self) -> None:
        listener, self._path = _listening(self._process.pid)
        self._server = asyncio.get_running_loop().create_task(self._serve(listener))

    def look_after_file(self) -> None:
        """Who cleans up among temporary files may have taken it, and nobody finds us without."""
        if not os.path.lexists(self._path):
            self._server.cancel()
            self._open()

    def retire(self) -> None:
        """The process has ended, which those who wait for a capture are still told."""
        with suppress(OSError):
            os.unlink(self._path)
        self._server.cancel()

    async def close(self) -> None:
        self.retire()
        await self._guests.send_away()

    async def _serve(self, listener: socket.socket) -> None:
        """Until it is cancelled. Who is connected stays: `serve_forever` of newer Pythons would end that."""
        server = await asyncio.start_unix_server(self._visited, sock=listener)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            server.close()

    async def _visited(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        try:
            await self._guests.serve(connection, partial(self._talk, reader, writer))
        finally:
            await close(writer)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._guests.stay()
        capturing: asyncio.Task[None] | None = None
        mine: KinetoCapture | None = None

        def is_capturing() -> bool:
            return mine is not None and self._capture is mine

        try:
            while True:
                frame = await read_frame(reader, _BETWEEN_FRAMES_SECONDS, is_patient=is_capturing)
                if frame is None:
                    return
                if frame.kind == b"C" and self._capture is None:
                    mine = self._capture = KinetoCapture(self._process, self._captures)
                    capturing = asyncio.create_task(self._record(mine, frame, writer))
                else:
                    await self._answer(frame, writer)
        finally:
            if mine is not None:
                mine.abandon()
            if capturing is not None:
                with suppress(OSError, TimeoutError):
                    await capturing

    async def _record(self, capture: KinetoCapture, frame: Frame, writer: asyncio.StreamWriter) -> None:
        async def answer(kind: str, **members: object) -> None:
            await send_answer(writer, kind, **members)

        try:
            last = await capture.run(frame.payload, answer)
        finally:
            self._capture = None
        await answer(str(last.pop("answer")), **last)

    async def _answer(self, frame: Frame, writer: asyncio.StreamWriter) -> None:
        if frame.kind == b"S":
            await send_answer(writer, "status", **self._status())
        elif frame.kind == b"C":
            await send_answer(writer, "refused", reason="another capture is running")
        elif frame.kind == b"X" and self._capture is not None:
            self._capture.cancel()
            await send_answer(writer, "accepted")
        elif frame.kind == b"X":
            await send_answer(writer, "refused", reason="nothing is being captured")
        else:
            raise KinetographError(f"{frame.kind!r} is no request")

    def _status(self) -> dict[str, object]:
        process = self._process
        state = "idle" if process.poll.is_idle else "recording"
        if time.monotonic() - process.heard > _MOST_SILENCE_SECONDS:
            state = "silent"  # it is stopped
        return {
            "protocol": _PROTOCOL,
            "pid": process.pid,
            "uid": process.user,
            "host": os.uname().nodename,
            "command": process.command,
            "job": process.job,
            "rank": process.rank,
            "recorder": "kineto",
            "step": 0,
            "state": state if self._capture is None else self._capture.state,
        }


def _listening(pid: int) -> tuple[socket.socket, str]:
    """A socket, and its path. It gets its name when it listens: one that refuses would be removed."""
    name = f"{KINETO_PREFIX}{pid}-{os.urandom(4).hex()}{SOCKET_SUFFIX}"
    path, unready = (os.path.join(socket_directory(), each) for each in (name, f".{name}"))
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        listener.bind(unready)
        os.chmod(unready, 0o600)
        listener.listen(_MOST_VISITORS)
        os.rename(unready, path)
    except OSError:
        listener.close()
        with suppress(OSError):
            os.unlink(unready)
        raise
    return listener, path


async def _is_this_user(visitor: socket.socket) -> bool:
    return credentials(visitor).user == os.geteuid()

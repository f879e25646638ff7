"""A visit to the daemon of another host: the other end of `kinetograph.ondemand.daemon.visit`."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from typing import Any, NamedTuple, Self

from kinetograph.errors import KinetographError
from kinetograph.ondemand.frames import Frame, close, read_frame, send_frame
from kinetograph.ondemand.hosts import Host
from kinetograph.ondemand.lookups import Lookups
from kinetograph.ondemand.processes import AgentProcess
from kinetograph.ondemand.request import CaptureRequest
from kinetograph.ondemand.secrets import end_of_connection, proof
from kinetograph.ondemand.told import told_number, told_text
from kinetograph.ondemand.wire import ANSWER, CANCEL, CAPTURE, DATA, FETCH, HELLO, LIST, answer_in
from kinetograph.trace.json_text import strict_json, to_json

__all__ = ["Access", "Unwritable", "Visitor"]

_MOST_ARRIVING_SECONDS = 5.0
# A daemon says something every second while it captures, and is as quick with everything else.
_MOST_SILENCE_SECONDS = 15.0
_MOST_PROCESSES = 65_536
_TEXTS = ("command", "user", "state", "python", "recorder")


class Access(NamedTuple):
    """What a daemon may want to see."""

    token: bytes | None = None
    tls: ssl.SSLContext | None = None


class Unwritable(KinetographError):  # noqa: N818  (a kind of them)
    """A file that comes finds no place here."""


class Visitor:
    """Errors are KinetographError, OSError and TimeoutError: the host is lost then, and no other."""

    def __init__(self, host: Host, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.host = host
        self._reader = reader
        self._writer = writer
        self.clock_offset_ns = 0
        """By how much the clock over there is ahead of ours."""
        self.clock_error_ns = 0

    @classmethod
    async def arrived(cls, host: Host, access: Access, lookups: Lookups) -> Self:
        """Connected, and let in."""
        async with asyncio.timeout(_MOST_ARRIVING_SECONDS):
            addresses = await lookups.addresses(host.name, host.port)
            reader, writer = await _connected(addresses, host, access.tls)
        visitor = cls(host, reader, writer)
        try:
            async with asyncio.timeout(_MOST_ARRIVING_SECONDS):
                await visitor._be_let_in(access.token)
        except BaseException:
            await visitor.leave()
            raise
        return visitor

    async def leave(self) -> None:
        await close(self._writer)

    async def _be_let_in(self, token: bytes | None) -> None:
        before_ns = time.time_ns()
        await send_frame(self._writer, HELLO, "{}")
        hello = await self._answer("hello")
        self._compare_clocks(before_ns, told_number(hello, "time_ns"), time.time_ns())
        challenge = hello.get("challenge")
        if challenge is None:
            return
        if token is None:
            raise KinetographError("it demands a token", hint="--token-file names the file that has it")
        daemon = end_of_connection(self._writer.get_extra_info("peername"))
        await send_frame(self._writer, HELLO, to_json({"proof": proof(token, str(challenge), daemon)}))
        await self._answer("welcome")

    def _compare_clocks(self, before_ns: int, theirs_ns: int | None, after_ns: int) -> None:
        if theirs_ns is not None:
            self.clock_offset_ns = theirs_ns - (before_ns + after_ns) // 2
            self.clock_error_ns = (after_ns - before_ns) // 2

    async def processes(self) -> list[AgentProcess]:
        await send_frame(self._writer, LIST)
        found = []
        while (answer := await self._answer("process", "listed"))["answer"] == "process":
            found.append(_process(answer, str(self.host)))
            if len(found) > _MOST_PROCESSES:
                raise KinetographError(f"it lists more than {_MOST_PROCESSES} processes")
        return found

    async def capture(
        self, request: CaptureRequest, pids: Sequence[int], tell: Callable[[str], None]
    ) -> AsyncIterator[dict[str, Any]]:
        """What became of each process, as soon as all are done."""
        asked = {"request": strict_json(request.to_json()), "pids": list(pids)}
        await send_frame(self._writer, CAPTURE, to_json(asked))
        while (answer := await self._answer("progress", "outcome", "captured"))["answer"] != "captured":
            if answer["answer"] == "outcome":
                yield answer
            elif answer.get("text"):
                tell(f"{self.host}: {told_text(answer, 'text')}")

    async def withdraw(self) -> None:
        with suppress(OSError, TimeoutError):
            await send_frame(self._writer, CANCEL)

    async def fetch(self, number: int, size_bytes: int, path: str) -> None:
        """The file has its name once it is whole. More than was announced is not taken."""
        with _arriving(path) as file:
            await send_frame(self._writer, FETCH, to_json({"file": number}))
            came = 0
            while (frame := await self._frame()).kind == DATA and frame.payload and came <= size_bytes:
                with _told_of(path):
                    came += _written(file, frame.payload)
            if frame.kind != DATA:
                _taken(frame, ("fetched",))
            if came != size_bytes:
                raise KinetographError(f"{came} bytes came of a file of {size_bytes}")

    async def _answer(self, *expected: str) -> dict[str, Any]:
        return _taken(await self._frame(), expected)

    async def _frame(self) -> Frame:
        frame = await read_frame(self._reader, _MOST_SILENCE_SECONDS)
        if frame is None:
            raise KinetographError("its daemon has hung up")
        return frame


async def _connected(
    addresses: Sequence[str], host: Host, tls: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """To the first address that takes us. Raises what the last one says."""
    expected = None if tls is None else host.name  # in its certificate
    for address in addresses[:-1]:
        with suppress(OSError):
            return await asyncio.open_connection(address, host.port, ssl=tls, server_hostname=expected)
    return await asyncio.open_connection(addresses[-1], host.port, ssl=tls, server_hostname=expected)


@contextmanager
def _arriving(path: str) -> Iterator[FileIO]:
    """It gets its name when it is whole. Until then another one keeps `free_path` from giving it away."""
    part = f"{path}.part"
    with _told_of(path):
        file = FileIO(part, "x")
    try:
        with file:
            yield file
        with _told_of(path):
            os.rename(part, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise


@contextmanager
def _told_of(path: str) -> Iterator[None]:
    """What goes wrong here is not the fault of the other host."""
    try:
        yield
    except OSError as error:
        reason = f"cannot write {path}: {error.strerror}; what was recorded stays on its host"
        raise Unwritable(reason) from error


def _written(file: FileIO, piece: bytes) -> int:
    """All of it: a disk that is nearly full takes a part, and says so with the next."""
    left = memoryview(piece)
    while left:
        left = left[file.write(left) :]
    return len(piece)


def _taken(frame: Frame, expected: Sequence[str]) -> dict[str, Any]:
    if frame.kind != ANSWER:
        raise KinetographError(f"expected an answer, got {frame.kind!r}")
    answer = answer_in(frame.payload)
    if answer["answer"] == "refused":
        reason = str(answer.get("reason", "it was refused"))
        raise KinetographError(reason, hint=str(answer["hint"]) if answer.get("hint") else None)
    if answer["answer"] not in expected:
        raise KinetographError(f"expected {' or '.join(expected)}, got {answer['answer'][:100]!r}")
    return answer


def _process(answer: dict[str, Any], host: str) -> AgentProcess:
    """As its daemon has it; the host is called what we call it."""
    return AgentProcess(
        path="",
        pid=told_number(answer, "pid") or 0,
        host=host,
        job=told_text(answer, "job") or None,
        rank=told_number(answer, "rank"),
        step=told_number(answer, "step") or 0,
        **{name: told_text(answer, name) for name in _TEXTS},
    )

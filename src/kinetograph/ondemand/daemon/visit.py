"""One visitor over TCP who speaks our frames: it is let in, lists, captures, cancels and fetches."""

from __future__ import annotations

import asyncio
import hmac
import os
import socket
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from typing import Any

from kinetograph.errors import KinetographError, UsageError
from kinetograph.ondemand.capture import Outcome, capture
from kinetograph.ondemand.frames import Frame, read_frame, send_answer, send_frame
from kinetograph.ondemand.peers import WITHDRAW, Abandoned
from kinetograph.ondemand.places import captures_directory
from kinetograph.ondemand.processes import AgentProcess, chosen, processes
from kinetograph.ondemand.request import CaptureRequest
from kinetograph.ondemand.secrets import end_of_connection, new_challenge, proof
from kinetograph.ondemand.wire import CANCEL, CAPTURE, DATA, FETCH, HELLO, LIST, MOST_PAYLOAD_BYTES
from kinetograph.trace.json_text import strict_json, to_json

__all__ = ["PROTOCOL", "Visit"]

PROTOCOL = 1
_BETWEEN_FRAMES_SECONDS = 30.0
_PROOF_SECONDS = 5.0
_TELL_EVERY_SECONDS = 1.0
_LONGEST_TEXT = 1000
_LONGEST_COMMAND, _LONGEST_MEMBER = 4000, 200
_MOST_NOTES = 20


class Visit:
    """`token` is what the visitor has to know; None: it has shown otherwise who it is.

    `on_let_in` is called once it is let in.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        token: bytes | None,
        on_let_in: Callable[[], None],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._token = token
        self._on_let_in = on_let_in
        self._capturing: asyncio.Task[None] | None = None
        self._withdrawal: socket.socket | None = None
        self._directory = ""
        self._files: dict[int, str] = {}
        self._last_file = 0
        self._news = ""

    async def serve(self, begun: bytes) -> None:
        """Until it goes, or says what nobody says. `begun` is what has been read of its first frame."""
        if not await self._is_let_in(begun):
            return
        self._on_let_in()
        try:
            while True:
                frame = await read_frame(
                    self._reader, _BETWEEN_FRAMES_SECONDS, is_patient=lambda: self._is_capturing
                )
                if frame is None:
                    return
                await self._answer(frame)
        finally:
            await self._end()

    async def _is_let_in(self, begun: bytes) -> bool:
        """A challenge is answered at once: who has to think about it does not know."""
        first = await read_frame(self._reader, _BETWEEN_FRAMES_SECONDS, begun=begun)
        if first is None or first.kind != HELLO:
            return False
        challenge = None if self._token is None else new_challenge()
        await send_answer(self._writer, "hello", **_own_description(), challenge=challenge)
        if self._token is None or challenge is None:
            return True
        second = await read_frame(self._reader, _PROOF_SECONDS)
        given = _members(second.payload).get("proof") if second and second.kind == HELLO else None
        daemon = end_of_connection(self._writer.get_extra_info("sockname"))
        expected = proof(self._token, challenge, daemon).encode()
        if isinstance(given, str) and hmac.compare_digest(given.encode(errors="replace"), expected):
            await send_answer(self._writer, "welcome")
            return True
        hint = "or something in between changes addresses: then let certificates tell who is who"
        await send_answer(self._writer, "refused", reason="that is not the token of this daemon", hint=hint)
        return False

    async def _answer(self, frame: Frame) -> None:
        if frame.kind == LIST:
            await self._list()
        elif frame.kind == CAPTURE and self._is_capturing:
            await send_answer(self._writer, "refused", reason="another capture is running")
        elif frame.kind == CAPTURE:
            # Here, so that whatever follows finds something to withdraw.
            self._withdrawal, ours = socket.socketpair()
            self._withdrawal.setblocking(False)
            self._capturing = asyncio.create_task(self._capture(frame.payload, ours))
        elif frame.kind == CANCEL:
            self._withdraw()
        elif frame.kind == FETCH:
            await self._fetch(_members(frame.payload).get("file"))
        else:
            raise KinetographError(f"{frame.kind!r} is no request")

    # Lists

    async def _list(self) -> None:
        for process in await asyncio.to_thread(processes, _ignore):
            members = {name: _short(name, value) for name, value in process._asdict().items()}
            del members["path"]
            await send_answer(self._writer, "process", **members)
        await send_answer(self._writer, "listed")

    # Captures

    @property
    def _is_capturing(self) -> bool:
        return self._capturing is not None and not self._capturing.done()

    async def _capture(self, payload: bytes, withdrawal: socket.socket) -> None:
        telling = asyncio.create_task(self._tell())
        try:
            outcomes = await asyncio.to_thread(self._outcomes, payload, withdrawal)
        except Abandoned:
            return
        except (KinetographError, OSError) as error:
            reason, _, hint = str(error).partition("\nhint: ")
            await send_answer(self._writer, "refused", reason=reason[:_LONGEST_TEXT], hint=hint)
            return
        finally:
            telling.cancel()
            withdrawal.close()
            self._abandon()
        for outcome in outcomes:
            await send_answer(self._writer, "outcome", **self._described(outcome))
        await send_answer(self._writer, "captured")

    def _outcomes(self, payload: bytes, withdrawal: socket.socket) -> list[Outcome]:
        """In a thread of its own."""
        request, found = _asked_for(payload)
        self._directory = self._directory or tempfile.mkdtemp(prefix="remote-", dir=captures_directory())
        return capture(found, request, self._directory, self._take_news, withdrawal)

    def _take_news(self, text: str) -> None:
        """In the thread of the capture."""
        self._news = text

    async def _tell(self) -> None:
        """So often that the visitor knows that we are there, whether there is news or not."""
        with suppress(OSError, TimeoutError):
            while True:
                await asyncio.sleep(_TELL_EVERY_SECONDS)
                await send_answer(self._writer, "progress", text=self._news[:_LONGEST_TEXT])

    def _described(self, outcome: Outcome) -> dict[str, object]:
        members = outcome._asdict()
        del members["process"], members["path"]
        members["reason"] = outcome.reason[:_LONGEST_TEXT]
        members["notes"] = [note[:_LONGEST_TEXT] for note in outcome.notes[:_MOST_NOTES]]
        members |= {"pid": outcome.process.pid, "file": None}
        if outcome.path is not None:
            self._last_file += 1
            members["file"] = self._last_file
            self._files[self._last_file] = outcome.path
            behind_pid = os.path.basename(outcome.path).rpartition(f"-{outcome.process.pid}")[2]
            members["suffix"] = behind_pid.partition(".")[2]
        return members

    def _withdraw(self) -> None:
        if self._withdrawal is not None:
            with suppress(BlockingIOError):  # it has been said often enough
                self._withdrawal.send(WITHDRAW)

    def _abandon(self) -> None:
        if self._withdrawal is not None:
            self._withdrawal.close()
            self._withdrawal = None

    # Files

    async def _fetch(self, number: object) -> None:
        """One that this visitor has captured; there is no way to name another."""
        path = self._files.get(number) if isinstance(number, int) else None
        if path is None or not os.path.isfile(path):
            await send_answer(self._writer, "refused", reason="there is no such file")
            return
        with open(path, "rb") as file:
            while piece := file.read(MOST_PAYLOAD_BYTES):
                await send_frame(self._writer, DATA, piece)
            await send_answer(self._writer, "fetched", size_bytes=file.tell())
        self._files.pop(number)  # type: ignore[call-overload]
        os.unlink(path)

    async def _end(self) -> None:
        """A capture that runs ends. What was recorded and not fetched stays, here or with the processes."""
        self._abandon()
        if self._capturing is not None:
            with suppress(OSError, TimeoutError):
                await self._capturing
        if self._directory:
            with suppress(OSError):
                os.rmdir(self._directory)


def _short(name: str, value: object) -> object:
    """So that all members of a process fit a frame, however they are escaped."""
    most = _LONGEST_COMMAND if name == "command" else _LONGEST_MEMBER
    return value[:most] if isinstance(value, str) else value


def _own_description() -> dict[str, object]:
    return {
        "protocol": PROTOCOL,
        "version": version("kinetograph"),
        "host": os.uname().nodename,
        "time_ns": time.time_ns(),
    }


def _members(payload: bytes) -> dict[str, Any]:
    try:
        members = strict_json(payload.decode() or "{}")
    except ValueError as error:
        raise KinetographError(f"expected a JSON object: {error}") from None
    if not isinstance(members, dict):
        raise KinetographError(f"expected a JSON object, got {type(members).__name__}")
    return members


def _asked_for(payload: bytes) -> tuple[CaptureRequest, list[AgentProcess]]:
    """The request, and whom it is for. Those that are gone by now are among them."""
    members = _members(payload)
    pids = members.get("pids")
    if not isinstance(pids, list) or not pids or not all(isinstance(pid, int) for pid in pids):
        raise UsageError("pids: expected a list of pids")
    request = CaptureRequest.from_json(to_json(members.get("request", {})).encode())
    found = chosen(processes(_ignore), pids=tuple(pids))
    gone = set(pids) - {process.pid for process in found}
    return request, [*found, *(AgentProcess("", pid) for pid in sorted(gone))]


def _ignore(_text: str) -> None:
    pass

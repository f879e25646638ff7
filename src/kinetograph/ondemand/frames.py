"""Frames on streams of asyncio: each whole, none too long, and nobody is waited for longer than said."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from kinetograph.ondemand.wire import ANSWER, HEADER_BYTES, framed, kind_and_length
from kinetograph.trace.json_text import to_json

__all__ = ["WITHIN_FRAME_SECONDS", "Frame", "close", "read_frame", "send_answer", "send_frame"]

# For the rest of a frame, and for room to send one: the same as an agent has.
WITHIN_FRAME_SECONDS = 2.0
_MOST_UNREAD_SECONDS = 30.0


Patient = Callable[[], bool]


def _never() -> bool:
    return False


class Frame(NamedTuple):
    kind: bytes
    payload: bytes


async def read_frame(
    reader: asyncio.StreamReader, patience: float, *, begun: bytes = b"", is_patient: Patient = _never
) -> Frame | None:
    """The next frame; None at its end. TimeoutError for a slow peer, KinetographError for garbage.

    `begun` has been read already. As long as `is_patient`, a peer may be silent for longer.
    """
    first = begun or await _first_byte(reader, patience, is_patient)
    if not first:
        return None
    try:
        async with asyncio.timeout(WITHIN_FRAME_SECONDS):
            header = first + await reader.readexactly(HEADER_BYTES - len(first))
            kind, length = kind_and_length(header)
            return Frame(kind, await reader.readexactly(length))
    except asyncio.IncompleteReadError:
        return None


async def _first_byte(reader: asyncio.StreamReader, patience: float, is_patient: Patient) -> bytes:
    while True:
        try:
            async with asyncio.timeout(patience):
                return await reader.read(1)
        except TimeoutError:
            if not is_patient():
                raise


async def send_frame(writer: asyncio.StreamWriter, kind: bytes, payload: str | bytes = "") -> None:
    """TimeoutError for a peer that leaves everything unread, ConnectionError for one that is gone."""
    writer.write(framed(kind, payload))
    async with asyncio.timeout(_MOST_UNREAD_SECONDS):
        await writer.drain()


async def send_answer(writer: asyncio.StreamWriter, answer: str, **members: object) -> None:
    await send_frame(writer, ANSWER, to_json({"answer": answer, **members}))


async def close(writer: asyncio.StreamWriter) -> None:
    """Without waiting for a peer that reads nothing more."""
    writer.close()
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(WITHIN_FRAME_SECONDS):
            await writer.wait_closed()
    writer.transport.abort()

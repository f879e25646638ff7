"""Frames as docs/concepts/on-demand.md has them: what agents and daemons are asked, and what they answer."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from kinetograph.errors import KinetographError
from kinetograph.trace.json_text import strict_json

__all__ = [
    "ANSWER",
    "CANCEL",
    "CAPTURE",
    "DATA",
    "FETCH",
    "HEADER_BYTES",
    "HELLO",
    "LIST",
    "MAGIC",
    "MOST_PAYLOAD_BYTES",
    "STATUS",
    "AnswerReader",
    "answer_in",
    "framed",
    "kind_and_length",
]

STATUS, CAPTURE, CANCEL, ANSWER = b"S", b"C", b"X", b"A"
# Only between a daemon and its visitors.
HELLO, LIST, FETCH, DATA = b"H", b"L", b"F", b"D"

_HEADER = struct.Struct(">2sBcI")
HEADER_BYTES = _HEADER.size
MAGIC, _VERSION = b"KG", 1
MOST_PAYLOAD_BYTES = 64 * 1024


def framed(kind: bytes, payload: str | bytes = "") -> bytes:
    encoded = payload.encode() if isinstance(payload, str) else payload
    return _HEADER.pack(MAGIC, _VERSION, kind, len(encoded)) + encoded


def kind_and_length(header: bytes) -> tuple[bytes, int]:
    """Of the payload that follows. Raises for what nobody sends who speaks this."""
    magic, version, kind, length = _HEADER.unpack_from(header)
    if (magic, version) != (MAGIC, _VERSION) or length > MOST_PAYLOAD_BYTES:
        raise KinetographError(f"expected a frame of version {_VERSION}, got {header[:HEADER_BYTES]!r}")
    return kind, length


class AnswerReader:
    """Takes what an agent sends, in whatever pieces, and gives its answers."""

    def __init__(self) -> None:
        self._pending = b""

    def answers(self, more: bytes) -> Iterator[dict[str, Any]]:
        """Those that are whole now. Raises for what no agent sends."""
        self._pending += more
        while len(self._pending) >= _HEADER.size:
            magic, version, kind, length = _HEADER.unpack_from(self._pending)
            if (magic, version, kind) != (MAGIC, _VERSION, ANSWER) or length > MOST_PAYLOAD_BYTES:
                raise KinetographError(
                    f"expected an answer of version {_VERSION}, got {self._pending[:8]!r}",
                    hint="do the process and this command use the same version of kinetograph?",
                )
            end = _HEADER.size + length
            if len(self._pending) < end:
                return
            payload, self._pending = self._pending[_HEADER.size : end], self._pending[end:]
            yield answer_in(payload)


def answer_in(payload: bytes) -> dict[str, Any]:
    try:
        answer = strict_json(payload.decode())
    except ValueError as error:
        raise KinetographError(f"expected an answer in JSON, got {payload[:80]!r}: {error}") from None
    if not isinstance(answer, dict) or not isinstance(answer.get("answer"), str):
        raise KinetographError(f"expected an answer, got {payload[:80]!r}")
    return answer

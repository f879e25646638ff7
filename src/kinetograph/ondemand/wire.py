"""Frames as docs/concepts/on-demand.md has them, for whoever asks an agent; the agent itself is native."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from kinetograph.errors import KinetographError
from kinetograph.trace.json_text import strict_json

__all__ = ["CANCEL", "CAPTURE", "STATUS", "AnswerReader", "framed"]

STATUS, CAPTURE, CANCEL, ANSWER = b"S", b"C", b"X", b"A"

_HEADER = struct.Struct(">2sBcI")
_MAGIC, _VERSION = b"KG", 1
_MOST_PAYLOAD_BYTES = 64 * 1024


def framed(kind: bytes, payload: str = "") -> bytes:
    encoded = payload.encode()
    return _HEADER.pack(_MAGIC, _VERSION, kind, len(encoded)) + encoded


class AnswerReader:
    """Takes what an agent sends, in whatever pieces, and gives its answers."""

    def __init__(self) -> None:
        self._pending = b""

    def answers(self, more: bytes) -> Iterator[dict[str, Any]]:
        """Those that are whole now. Raises for what no agent sends."""
        self._pending += more
        while len(self._pending) >= _HEADER.size:
            magic, version, kind, length = _HEADER.unpack_from(self._pending)
            if (magic, version, kind) != (_MAGIC, _VERSION, ANSWER) or length > _MOST_PAYLOAD_BYTES:
                raise KinetographError(
                    f"expected an answer of version {_VERSION}, got {self._pending[:8]!r}",
                    hint="do the process and this command use the same version of kinetograph?",
                )
            end = _HEADER.size + length
            if len(self._pending) < end:
                return
            payload, self._pending = self._pending[_HEADER.size : end], self._pending[end:]
            yield _answer(payload)


def _answer(payload: bytes) -> dict[str, Any]:
    try:
        answer = strict_json(payload.decode())
    except ValueError as error:
        raise KinetographError(f"expected an answer in JSON, got {payload[:80]!r}: {error}") from None
    if not isinstance(answer, dict) or not isinstance(answer.get("answer"), str):
        raise KinetographError(f"expected an answer, got {payload[:80]!r}")
    return answer

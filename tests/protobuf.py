"""Just enough of protobuf to look into a file, and to make one: fields by number, values as on the wire."""

from __future__ import annotations

from typing import Any

__all__ = ["fields", "many", "message", "number", "one"]


def fields(message: bytes) -> dict[int, list[Any]]:
    """All fields of a message: integers for numbers, bytes for texts and messages."""
    found: dict[int, list[Any]] = {}
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        if tag & 7 == 0:
            value, at = _varint(message, at)
        elif tag & 7 == 1:
            value, at = int.from_bytes(message[at : at + 8], "little"), at + 8
        else:
            assert tag & 7 == 2, f"wire type {tag & 7} at byte {at}"
            length, at = _varint(message, at)
            value, at = message[at : at + length], at + length
        found.setdefault(tag >> 3, []).append(value)
    assert at == len(message)
    return found


def one(message: dict[int, list[Any]], number: int) -> Any:
    """The last of a field, as protobuf has it; None where there is none."""
    return message[number][-1] if number in message else None


def many(message: dict[int, list[Any]], number: int) -> list[Any]:
    return message.get(number, [])


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if byte < 0x80:
            return value, at


def number(field: int, value: int) -> bytes:
    return _put_varint(field << 3) + _put_varint(value)


def message(field: int, content: bytes) -> bytes:
    """A message, a text or bytes."""
    return _put_varint(field << 3 | 2) + _put_varint(len(content)) + content


def _put_varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])

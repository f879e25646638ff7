"""The arrows from forward to backward operators, as a file of the trace draws them.

`native/format/sequence_arrows.h` finds them. What it goes by is not all in the columns (PyTorch has numbers
of its own for threads), so they are read from what is written.
"""

from __future__ import annotations

from typing import NamedTuple

from kinetograph.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from kinetograph.trace.trace import Trace

__all__ = ["Arrow", "sequence_arrows"]

# How lines of the file begin: an event has one, and its arrows follow it.
_EVENTS = (b'{"ph":"X"', b'{"ph":"i"', b'{"ph":"C"')
_ARROW_STARTS, _ARROW_ENDS = b'{"ph":"s","id":', b'{"ph":"f","id":'
_CATEGORY = b'"cat":"fwdbwd"'


class Arrow(NamedTuple):
    """One end of it."""

    id: int
    """Both ends have it, and the file."""
    is_start: bool


def sequence_arrows(trace: Trace) -> dict[int, Arrow]:
    """By row. It takes as long as saving the trace, unless nothing has a sequence number."""
    if trace.native.column("sequence") is None:
        return {}
    reader = _Reader()
    trace.native.write_chrome_json(reader.read, "")
    return reader.arrows


class _Reader:
    def __init__(self) -> None:
        self.arrows: dict[int, Arrow] = {}
        self._row = -1
        self._rest = b""

    def read(self, block: bytes) -> None:
        *lines, self._rest = (self._rest + block).split(b"\n")
        for line in lines:
            if line.startswith(_EVENTS):
                self._row += 1
            elif line.startswith((_ARROW_STARTS, _ARROW_ENDS)) and _CATEGORY in line:
                number = line[len(_ARROW_STARTS) : line.index(b",", len(_ARROW_STARTS))]
                self.arrows[self._row] = Arrow(int(number), line.startswith(_ARROW_STARTS))

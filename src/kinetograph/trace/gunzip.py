"""The text of a gzip file, piece by piece, by the fastest library that is there."""

from __future__ import annotations

import zlib
from types import ModuleType
from typing import IO, Any

from kinetograph.errors import TraceFormatError

__all__ = ["Gunzip"]

_GZIP_FRAME = 16 + zlib.MAX_WBITS
_MAGIC = b"\x1f\x8b"
_PACKED_BYTES = 64 << 10
_PIECE_BYTES = 1 << 20


class Gunzip:
    """Reads all members of a gzip file as one text. Pieces are bounded, however well the file is packed.

    `is_cut` tells, at the end, whether the file ends within a member: its writer died, or it was not copied
    as a whole.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._library = _fastest_library()
        self._member: Any = self._library.decompressobj(_GZIP_FRAME)
        self._packed = b""
        self.is_cut = False

    def read(self) -> bytes:
        """The next piece; nothing at the end of the file."""
        try:
            return self._read()
        except self._library.error as error:
            raise self.damaged(str(error)) from error

    def damaged(self, reason: str) -> TraceFormatError:
        return TraceFormatError(
            f"{self._file.name!r} is no complete gzip file: {reason}",
            hint="copy it again, or record again; zcat shows the part that is there",
        )

    def _read(self) -> bytes:
        while not self.is_cut:
            if self._member.eof and not self._next_member():
                break
            self._packed = packed = self._packed or self._file.read(_PACKED_BYTES)
            # Also when the file has ended: a member may hold something back.
            piece: bytes = self._member.decompress(packed, _PIECE_BYTES)
            self._packed = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
            if piece:
                return piece
            self.is_cut = not packed and not self._member.eof
        return b""

    def _next_member(self) -> bool:
        """Zeros between members are padding, as tapes and some tools leave it."""
        while not (packed := self._packed.lstrip(b"\0")):
            self._packed = self._file.read(_PACKED_BYTES)
            if not self._packed:
                return False
        # Not all libraries tell what is no member from one whose end is missing.
        if not packed.startswith(_MAGIC[: len(packed)]):
            raise self.damaged("what follows its last member is none")
        self._packed = packed
        self._member = self._library.decompressobj(_GZIP_FRAME)
        return True


def _fastest_library() -> ModuleType:
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib
    return isal_zlib

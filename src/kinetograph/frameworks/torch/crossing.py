"""Ranges that may cross others and end in any thread, through the C table: `kg.scope` has none of these."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from kinetograph import _native

__all__ = ["CrossingRanges"]

_USER_ANNOTATION, _USER_SCOPE = 1, 7  # of native/record/event.h
# Those of other sources have other numbers.
_OURS = 0x4B << 48

_pointer = ctypes.c_void_p
_text = (ctypes.c_char_p, ctypes.c_size_t)


class _Event(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_uint32),
        ("category", ctypes.c_uint8),
        ("scope", ctypes.c_uint8),
        ("flags", ctypes.c_uint8),
        ("reserved", ctypes.c_uint8),
        ("start_ticks", ctypes.c_uint64),
        ("end_ticks", ctypes.c_uint64),
        ("correlation", ctypes.c_uint32),
        ("args_bytes", ctypes.c_uint32),
        ("args", ctypes.c_char_p),
    )


_half = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.POINTER(_Event))


class _Table(ctypes.Structure):
    """As `kinetograph_record_table`, as far as it is used here."""

    _fields_ = (
        ("version", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("active", ctypes.POINTER(ctypes.c_uint32)),
        ("ticks", ctypes.CFUNCTYPE(ctypes.c_uint64)),
        *((f"unused_{i}", _pointer) for i in range(15)),
        ("range_begin", _half),
        ("range_end", _half),
        ("intern_text", ctypes.CFUNCTYPE(ctypes.c_uint32, *_text)),
    )


class CrossingRanges:
    """Begun and ended by a number of whoever makes them.

    >>> ranges = CrossingRanges()
    >>> ranges.begin(3, "copy")
    >>> ranges.end(3)
    """

    def __init__(self) -> None:
        library = ctypes.CDLL(str(Path(_native.__file__).parent / "libkinetograph.so"))
        lookup = library.kinetograph_record_table_for
        lookup.restype, lookup.argtypes = ctypes.POINTER(_Table), (ctypes.c_uint32,)
        self._table = lookup(_native.RECORD_ABI).contents

    def begin(self, number: int, name: str) -> None:
        text = name.encode(errors="replace")
        self._tell(self._table.range_begin, number, self._table.intern_text(text, len(text)))

    def end(self, number: int) -> None:
        self._tell(self._table.range_end, number, 0)

    def _tell(self, half: Any, number: int, name: int) -> None:
        event = _Event(
            name=name, category=_USER_ANNOTATION, scope=_USER_SCOPE, start_ticks=self._table.ticks()
        )
        half(_OURS ^ number, ctypes.byref(event))

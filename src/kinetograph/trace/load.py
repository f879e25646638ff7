"""`load`: from a file to a Trace. What the file is, its first bytes say; its name does not matter."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from io import BufferedReader
from os import PathLike

from kinetograph import _native
from kinetograph.checks import path_text
from kinetograph.errors import KinetographError, TraceFormatError
from kinetograph.hints import TYPE_CHECKING
from kinetograph.trace.trace import Trace

if TYPE_CHECKING:
    from kinetograph.trace.gunzip import Gunzip

__all__ = ["load", "require_trace"]

_PIECE_BYTES = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"
_PACKET = 0x0A
"""The first byte of a Perfetto trace; in JSON a line feed, which may stand before the text."""


def load(path: str | PathLike[str], *, directory: str | PathLike[str] | None = None) -> Trace:
    """Read a trace, plain or gzipped: Chrome JSON as we, PyTorch and others write it, or a `.pftrace`.

    >>> kg.load("trace.json.gz").events[0].name
    'aten::add_'

    A trace too large for memory is kept in unnamed files of `directory`.
    """
    name = path_text("path", path)
    try:
        with open(name, "rb") as file:
            storage = "" if directory is None else path_text("directory", directory)
            if _is_packed(file):
                return _read_packed(file, storage)
            return _read(partial(file.read, _PIECE_BYTES), storage)
    except _native.ParseError as error:
        raise _no_trace(name, *error.args) from None
    except OSError as error:
        raise KinetographError(f"cannot read {name!r}: {error.strerror or error}") from error


def require_trace(path: str | PathLike[str]) -> None:
    """Raise what `load` would for a file that is no trace. Of one that begins as a trace no more is read."""
    name = path_text("path", path)
    try:
        with open(name, "rb") as file:
            pieces = [_unpacking(file).read() if _is_packed(file) else file.read(_PIECE_BYTES)]
            _read(lambda: pieces.pop() if pieces else b"", "")
    except _native.ParseError:
        load(name)  # it may begin with more than the first piece holds
    except OSError as error:
        raise KinetographError(f"cannot read {name!r}: {error.strerror or error}") from error


def _read(read: Callable[[], bytes], storage: str) -> Trace:
    first = read()
    parse = _native.Trace.read_perfetto if _is_perfetto(first) else _native.Trace.read_chrome_json
    pieces = [first]
    return Trace(parse(lambda: pieces.pop() if pieces else read(), storage))


def _read_packed(file: BufferedReader, storage: str) -> Trace:
    """A file whose end is missing is read as far as it goes, like one that is not packed."""
    packed = _unpacking(file)
    try:
        trace = _read(packed.read, storage)
    except _native.ParseError:
        if packed.is_cut:
            raise packed.damaged("the file ends too early") from None
        raise
    if packed.is_cut and all(note.kind != "truncated" for note in trace.notes):
        trace.add_note("truncated", "the gzip file ends too early: what came behind is missing")
    return trace


def _is_packed(file: BufferedReader) -> bool:
    # Not read and seek: it may be a pipe.
    return file.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC)


def _unpacking(file: BufferedReader) -> Gunzip:
    # Here, for it brings zlib or isal, and `import kinetograph` loads this module.
    from kinetograph.trace.gunzip import Gunzip

    return Gunzip(file)


def _is_perfetto(first: bytes) -> bool:
    if not first or first[0] != _PACKET:
        return False
    # A packet of 91 or 123 bytes looks like a bracket on the second line: what follows it decides.
    text = first.lstrip(b" \t\r\n")
    return text[:1] not in (b"{", b"[") or text[1:].lstrip(b" \t\r\n")[:1] not in (b'"', b"{", b"]", b"}")


def _no_trace(path: str, reason: str, offset: int) -> TraceFormatError:
    return TraceFormatError(
        f"{path!r} is no trace: {reason}, at byte {offset} of the text",
        offset=offset,
        hint="expected Chrome trace JSON or a Perfetto trace; "
        "was the program that wrote it stopped before it was done?",
    )

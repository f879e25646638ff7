"""`load`: from a file to a Trace. What the file is, its first bytes say; its name does not matter."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from os import PathLike, fspath
from typing import IO

from kinetograph import _native
from kinetograph.errors import KinetographError, TraceFormatError
from kinetograph.trace.trace import Trace

__all__ = ["load"]

_PIECE_BYTES = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"


def load(path: str | PathLike[str]) -> Trace:
    """Read a trace: Chrome JSON as Kinetograph, PyTorch and others write it, plain or gzipped.

    >>> kg.load("trace.json.gz").events[0].name
    'aten::add_'
    """
    try:
        with open(path, "rb") as file:
            return Trace(_read(fspath(path), _opened(file)))
    except OSError as error:
        raise KinetographError(f"cannot read {fspath(path)!r}: {error.strerror or error}") from error


def _opened(file: IO[bytes]) -> IO[bytes]:
    magic = file.read(2)
    file.seek(0)
    if magic != _GZIP_MAGIC:
        return file
    try:
        from isal import igzip
    except ImportError:
        import gzip

        return gzip.GzipFile(fileobj=file)  # type: ignore[return-value]
    stream: IO[bytes] = igzip.IGzipFile(fileobj=file)
    return stream


def _read(path: str, stream: IO[bytes]) -> _native.Trace:
    read: Callable[[], bytes] = lambda: stream.read(_PIECE_BYTES)  # noqa: E731
    try:
        return _native.Trace.read_chrome_json(read)
    except _native.ParseError as error:
        reason, offset = error.args
        raise TraceFormatError(
            f"{path!r} is no trace: {reason}, at byte {offset} of the text",
            offset=offset,
            hint="expected Chrome trace JSON; was the program that wrote it stopped before it was done?",
        ) from None
    except (EOFError, zlib.error, ValueError) as error:
        raise _damaged(path, error) from error


def _damaged(path: str, error: Exception) -> TraceFormatError:
    return TraceFormatError(
        f"{path!r} is no complete gzip file: {error}",
        hint="copy it again, or record again; the part that is there can be seen with zcat",
    )

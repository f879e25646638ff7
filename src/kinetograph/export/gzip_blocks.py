"""Fast gzip of blocks as they come. Equal input gives equal bytes: the header holds no time and no name."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kinetograph.fork_locks import loading

__all__ = ["compressor", "gzip_blocks"]

_LEVEL = 1
_GZIP_FRAME = 16 + zlib.MAX_WBITS


@contextmanager
def gzip_blocks(write: Callable[[bytes], object]) -> Iterator[Callable[[bytes], object]]:
    """Give a function that compresses blocks into `write`; the stream ends with the block of the `with`."""
    stream = compressor()
    yield lambda block: write(stream.compress(block))
    write(stream.flush())


def compressor() -> Any:
    """One stream of gzip: `compress` and `flush` as of zlib's."""
    try:
        with loading:
            from isal import isal_zlib
    except ImportError:
        return zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP_FRAME)
    return isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, _GZIP_FRAME)

"""Write a file beside its target and put it there when it is whole, so that nobody ever sees half of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike, fspath
from pathlib import Path
from typing import IO

from kinetograph.errors import KinetographError

__all__ = ["replacing"]


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary file that becomes `path` at the end of the block, and vanishes if the block raises."""
    target = Path(fspath(path))
    # Not the target's name with something added: that may be too long, where the target's is not.
    temporary = target.with_name(f".kinetograph-{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise _cannot_write(target, error) from error
        raise


def _cannot_write(target: Path, error: OSError) -> KinetographError:
    return KinetographError(f"cannot write {str(target)!r}: {error.strerror or error}")

"""Write a file beside its target and put it there when it is whole, so that nobody ever sees half of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike, fspath
from pathlib import Path
from typing import IO

from kinetograph.checks import spelled
from kinetograph.errors import KinetographError

__all__ = ["cannot_write", "replacing", "target_of", "temporary_beside"]


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary file that becomes `path` at the end of the block, and vanishes if the block raises."""
    target = target_of(path)
    temporary = temporary_beside(target)
    try:
        with open(temporary, "xb") as file:
            yield file
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise cannot_write(target, error) from error
        raise


def temporary_beside(target: Path) -> Path:
    """Not the target's name with something added: that may be too long, where the target's is not."""
    return target.with_name(f".kinetograph-{os.getpid()}-{os.urandom(4).hex()}.tmp")


def target_of(path: str | PathLike[str]) -> Path:
    """Where a link leads to: whoever made it wants the file there. A pipe or a device would be lost."""
    target = Path(fspath(path))
    try:
        if target.exists() and not (target.is_file() or target.is_dir()):
            raise KinetographError(
                f"cannot write {str(target)!r}: it is neither a file nor free for one",
                hint="name another file",
            )
        return target.resolve() if target.is_symlink() else target
    except OSError as error:  # its name is too long, say
        raise cannot_write(target, error) from error


def cannot_write(target: Path, error: Exception) -> KinetographError:
    reason = error.strerror if isinstance(error, OSError) else spelled(error)
    return KinetographError(f"cannot write {str(target)!r}: {reason or error}")

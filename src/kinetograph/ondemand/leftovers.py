"""Traces that nobody fetched: whoever asked was gone, or was killed. They are kept for a while."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

__all__ = ["remove_leftovers"]

_DAY_SECONDS = 24 * 3600
MOST_AGE_SECONDS = 7 * _DAY_SECONDS
# Of all together. What is younger than a day may be more: somebody may be about to fetch it.
MOST_BYTES = 16 << 30
_SESSION_SUFFIX = ".kgsession"


class _File(NamedTuple):
    path: str
    changed: float
    size_bytes: int


def remove_leftovers(directory: str, now: float | None = None) -> None:
    """Files in a directory of captures, and in those that daemons and captures have in it.

    Links are never followed.
    """
    now = time.time() if now is None else now
    kept_bytes = 0
    for file in sorted(_files(directory), key=lambda file: file.changed, reverse=True):
        kept_bytes += file.size_bytes
        age = now - file.changed
        if age > MOST_AGE_SECONDS or (age > _DAY_SECONDS and kept_bytes > MOST_BYTES):
            _remove(file.path)
    _remove_empty_folders(directory, now)


def _files(directory: str) -> Iterator[_File]:
    for entry in _entries(directory):
        with suppress(OSError):
            found = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(found.st_mode):
                # What a mapped file takes of the disk is less than its length says.
                yield _File(entry.path, found.st_mtime, found.st_blocks * 512)
            elif stat.S_ISDIR(found.st_mode) and _is_ours(entry.name):
                yield from _files(entry.path)


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return [*entries]
    except OSError:
        return []


def _is_ours(name: str) -> bool:
    return name.startswith(("remote-", "dynolog-", "start-"))


def _remove(path: str) -> None:
    with suppress(OSError):
        if not (path.endswith(_SESSION_SUFFIX) and _is_in_use(path)):
            os.unlink(path)


def _is_in_use(session_file: str) -> bool:
    """By a process that records to it, for whatever time."""
    from kinetograph import _native

    try:
        return bool(_native.session_file_info(session_file)["is_in_use"])
    except (OSError, RuntimeError, ValueError):  # it is no such file
        return False


def _remove_empty_folders(directory: str, now: float) -> None:
    """Of those that are gone; one that runs may be about to use its own."""
    for entry in _entries(directory):
        with suppress(OSError):
            is_folder = entry.is_dir(follow_symlinks=False) and _is_ours(entry.name)
            if is_folder and now - entry.stat(follow_symlinks=False).st_mtime > _DAY_SECONDS:
                os.rmdir(entry.path)

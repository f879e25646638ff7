"""Where processes of PyTorch of other users write to, for a daemon that takes them, too."""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import suppress

from kinetograph.ondemand.leftovers import remove_leftovers

__all__ = ["SharedDirectory"]

_TEMPORARY = "/tmp"
_PREFIX = "kinetograph-kineto-"


class SharedDirectory:
    """Others can write there, and none can read what others wrote or remove it. Made when it is needed.

    It is locked while its daemon lives, so that the next one knows which are left over.
    """

    def __init__(self, parent: str = _TEMPORARY) -> None:
        self._parent = parent
        self._path = ""
        self._lock = -1
        self._remove_those_left_over()

    def path(self) -> str:
        if not os.path.isdir(self._path):  # yet, or any more: somebody cleans up there
            self.close()
            self._path = tempfile.mkdtemp(prefix=_PREFIX, dir=self._parent)
            self._lock = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(self._lock, fcntl.LOCK_SH)
            os.chmod(self._path, 0o1733)
        return self._path

    def close(self) -> None:
        """What is still in there stays: a daemon may have been ended before it was fetched."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
            with suppress(OSError):
                os.rmdir(self._path)

    def _remove_those_left_over(self) -> None:
        with suppress(OSError), os.scandir(self._parent) as entries:
            for entry in entries:
                if entry.name.startswith(_PREFIX):
                    with suppress(OSError):
                        _clean_up(entry.path)


def _clean_up(path: str) -> None:
    """One of ours whose daemon is gone; it goes once it is empty."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(directory).st_uid == os.geteuid():
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_leftovers(path)
            os.rmdir(path)
    finally:
        os.close(directory)

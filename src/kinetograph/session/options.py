"""Where recorded events are kept, how much memory that may take, and what happens when it is full."""

from __future__ import annotations

import os

from kinetograph.checks import path_text, require_bools, require_choice, require_folder, require_positive
from kinetograph.errors import UsageError
from kinetograph.hints import Literal
from kinetograph.session.values import Value
from kinetograph.trace.formats import usable_path

__all__ = ["RecordOptions"]

_MOST_BYTES = 1 << 62
_MOST_SECONDS = 1_000_000_000  # thirty years; nanoseconds of it fit an int64


class RecordOptions(Value):
    """How a session keeps what it records.

    >>> RecordOptions(mode="ring", ring_seconds=10)  # a flight recorder: the newest ten seconds
    >>> RecordOptions(crash_safe=True, directory="run")  # kill -9 loses nothing; `kinetograph recover run`

    A ring with neither size nor seconds holds as much as `memory_limit_bytes` allows. `directory` holds the
    mapped files of `crash_safe`, which makes it, and what is spilled. None means among the system's temporary
    files, for `crash_safe` in their `kinetograph-<user id>`. `path` is where the trace goes if the program
    ends while still recording. Whether both can be written to is asked when a session starts.
    """

    mode: Literal["record", "ring"] = "record"
    ring_bytes: int | None = None
    ring_seconds: float | None = None
    memory_limit_bytes: int = 1 << 30
    at_limit: Literal["spill", "drop"] = "spill"
    crash_safe: bool = False
    directory: str | os.PathLike[str] | None = None
    path: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        require_choice("mode", self.mode, ("record", "ring"))
        require_choice("at_limit", self.at_limit, ("spill", "drop"))
        require_bools(self)
        require_positive("memory_limit_bytes", self.memory_limit_bytes, (int,), "bytes", most=_MOST_BYTES)
        self._check_ring()
        for name in ("directory", "path"):
            if getattr(self, name) is not None:
                path_text(name, getattr(self, name), or_none=True)

    def _check_ring(self) -> None:
        if self.ring_bytes is not None:
            self._require_ring("ring_bytes")
            require_positive("ring_bytes", self.ring_bytes, (int,), "bytes", most=_MOST_BYTES)
            self._require_within_limit(self.ring_bytes)
        if self.ring_seconds is not None:
            self._require_ring("ring_seconds")
            require_positive("ring_seconds", self.ring_seconds, (int, float), "seconds", most=_MOST_SECONDS)

    def _require_ring(self, name: str) -> None:
        if self.mode != "ring":
            raise UsageError(f"{name} needs mode='ring', got {self.mode!r}", hint="pass mode='ring'")

    def _require_within_limit(self, ring_bytes: int) -> None:
        if ring_bytes > self.memory_limit_bytes:
            raise UsageError(
                f"ring_bytes={ring_bytes} is more than memory_limit_bytes={self.memory_limit_bytes}",
                hint="raise memory_limit_bytes as well",
            )

    @property
    def ring_limit_bytes(self) -> int:
        """How much the ring may hold, whichever option said so."""
        return self.memory_limit_bytes if self.ring_bytes is None else self.ring_bytes

    def usable_path(self) -> str | None:
        """`path` from the root, for the program may change directory; raises if it cannot be written."""
        if self.path is None:
            return None
        return usable_path("path", self.path)

    def usable_directory(self) -> str | None:
        """`directory` from the root; raises if it cannot be written to."""
        if self.directory is None:
            return None
        directory = os.path.abspath(os.fspath(self.directory))
        # Session files get their own made for them, one level of it.
        is_to_be_made = self.crash_safe and not os.path.lexists(directory)
        require_folder("directory", os.path.dirname(directory) if is_to_be_made else directory)
        return directory

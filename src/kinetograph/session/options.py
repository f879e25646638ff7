"""Where recorded events are kept, how much memory that may take, and what happens when it is full."""

from __future__ import annotations

import os
from typing import Literal

from kinetograph.errors import KinetographError
from kinetograph.session.checks import require_bools, require_choice, require_positive
from kinetograph.session.values import Value

__all__ = ["RecordOptions"]


class RecordOptions(Value):
    """How a session keeps what it records.

    >>> RecordOptions(mode="ring", ring_seconds=10)  # a flight recorder: the newest ten seconds
    >>> RecordOptions(crash_safe=True, directory="run")  # kill -9 loses nothing; `kinetograph recover run`

    A ring with neither size nor seconds holds as much as `memory_limit_bytes` allows. `directory` holds the
    mapped files of `crash_safe` and what is spilled; None takes a new one among the system's temporary files.
    `path` is where the trace goes if the program ends while still recording.
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
        require_positive("memory_limit_bytes", self.memory_limit_bytes, (int,), "bytes")
        self._check_ring()
        for name in ("directory", "path"):
            _require_path(name, getattr(self, name))

    def _check_ring(self) -> None:
        if self.ring_bytes is not None:
            self._require_ring("ring_bytes")
            require_positive("ring_bytes", self.ring_bytes, (int,), "bytes")
            self._require_within_limit(self.ring_bytes)
        if self.ring_seconds is not None:
            self._require_ring("ring_seconds")
            require_positive("ring_seconds", self.ring_seconds, (int, float), "seconds")

    def _require_ring(self, name: str) -> None:
        if self.mode != "ring":
            raise KinetographError(f"{name} needs mode='ring', got {self.mode!r}", hint="pass mode='ring'")

    def _require_within_limit(self, ring_bytes: int) -> None:
        if ring_bytes > self.memory_limit_bytes:
            raise KinetographError(
                f"ring_bytes={ring_bytes} is more than memory_limit_bytes={self.memory_limit_bytes}",
                hint="raise memory_limit_bytes as well",
            )

    @property
    def ring_limit_bytes(self) -> int:
        """How much the ring may hold, whichever option said so."""
        return self.memory_limit_bytes if self.ring_bytes is None else self.ring_bytes


def _require_path(name: str, value: object) -> None:
    if value is None or (isinstance(value, (str, os.PathLike)) and os.fspath(value)):
        return
    raise KinetographError(f"{name}: expected a path or None, got {value!r}", hint=f"leave {name} out")

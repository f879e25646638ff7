"""`torch.autograd.profiler._is_profiler_enabled`: parts of torch look at it, and then tell more.

Torch sets it when its own profiler begins, and clears it when that ends, whoever else may want it. So while
we do, the function that sets it is ours, and adds our wish to what torch says.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Any

from kinetograph.fork_locks import hold_across_forks

__all__ = ["is_profiled_by_torch", "want_flag"]

_SETTER = "_set_is_profiler_enabled"

_lock = threading.RLock()
_wanting: set[Hashable] = set()
# What torch itself would have the flag be, while ours is in its place.
_torchs_wish = False
_setter: _Setter | None = None


def want_flag(torch: Any, who: Hashable, *, wanted: bool) -> None:
    """Keep it set for as long as anybody wants it, or torch does."""
    profiler = torch.autograd.profiler
    with _lock:
        if wanted and not _wanting:
            _take(profiler)
        was_wanted = bool(_wanting)
        (_wanting.add if wanted else _wanting.discard)(who)
        if was_wanted and not _wanting:
            _give_back(profiler)


def is_profiled_by_torch(profiler: Any) -> bool:
    """Whether torch's own profiler runs, in any thread. `profiler` is the module that has the flag."""
    with _lock:
        return _torchs_wish if _wanting else bool(getattr(profiler, "_is_profiler_enabled", False))


class _Setter:
    """Ours, over that of torch. A new one each time: what somebody has put over the last may be below it."""

    def __init__(self, torchs: Any) -> None:
        self.torchs = torchs
        self.is_on = True

    def __call__(self, enable: bool) -> None:
        global _torchs_wish
        with _lock:
            if self.is_on:
                _torchs_wish = enable
            self.torchs(enable or (self.is_on and bool(_wanting)))


def _take(profiler: Any) -> None:
    global _torchs_wish, _setter
    _torchs_wish = bool(profiler._is_profiler_enabled)
    profiler._is_profiler_enabled = True
    torchs = getattr(profiler, _SETTER, None)
    if torchs is not None:
        _setter = _Setter(torchs)
        setattr(profiler, _SETTER, _setter)


def _give_back(profiler: Any) -> None:
    """What somebody else has put over ours goes on to call it."""
    global _setter
    profiler._is_profiler_enabled = _torchs_wish
    ours, _setter = _setter, None
    if ours is None:
        return
    ours.is_on = False
    if vars(profiler).get(_SETTER) is ours:
        setattr(profiler, _SETTER, ours.torchs)


hold_across_forks(_lock)

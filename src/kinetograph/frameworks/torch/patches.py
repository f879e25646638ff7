"""Ranges that a program makes by torch, as scopes of ours: `record_function` and `torch.cuda.nvtx`.

Where they come to us by another way (the observer, ITT, NVTX) they are left to that. Programs have imported
these functions by name, so what is replaced is what they call: methods of the class, and the module below.
"""

from __future__ import annotations

import threading
from functools import wraps
from typing import Any

from kinetograph import _native, injection
from kinetograph.frameworks.torch.crossing import CrossingRanges
from kinetograph.frameworks.torch.emitted import is_emitting
from kinetograph.frameworks.torch.operators import is_observing

__all__ = ["Patches"]

_SCOPE = "_kinetograph_scope"


class Patches:
    """Of one torch, in place from the beginning to `undo`.

    >>> patches = Patches(torch)
    >>> patches.undo()
    """

    def __init__(self, torch: Any) -> None:
        self._range = torch.autograd.profiler.record_function
        self._torchs = (self._range.__enter__, self._range.__exit__)
        self.is_on = True
        self._ours = _methods_of_ours(self, *self._torchs)
        self._range.__enter__, self._range.__exit__ = self._ours
        self._nvtx = torch.cuda.nvtx
        self._nvtx_below = getattr(self._nvtx, "_nvtx", None)
        self._nvtx_ours = _NvtxBelow(self._nvtx_below)
        if self._nvtx_below is not None:
            self._nvtx._nvtx = self._nvtx_ours

    def undo(self) -> None:
        """What somebody else has put over ours goes on to call it, and it records nothing."""
        self.is_on = self._nvtx_ours.is_on = False
        for name, ours, torchs in zip(("__enter__", "__exit__"), self._ours, self._torchs, strict=True):
            if getattr(self._range, name) is ours:
                setattr(self._range, name, torchs)
        if getattr(self._nvtx, "_nvtx", None) is self._nvtx_ours:
            self._nvtx._nvtx = self._nvtx_below


def _methods_of_ours(patches: Patches, enter: Any, leave: Any) -> tuple[Any, Any]:
    # TorchScript compiles the text of what is wrapped.
    @wraps(enter)
    def begin(self: Any) -> Any:
        entered = enter(self)
        if patches.is_on and _native.is_recording() and not (is_observing() or is_emitting()):
            name = _text(self.name)
            scope = _native.scope(name) if self.args is None else _native.scope(name, _text(self.args))
            scope.__enter__()
            vars(self)[_SCOPE] = scope
        return entered

    @wraps(leave)
    def end(self: Any, *error: Any) -> Any:
        scope = vars(self).pop(_SCOPE, None)
        if scope is not None:
            scope.__exit__(None, None, None)
        return leave(self, *error)

    return begin, end


def _text(name: Any) -> str:
    """Torch takes bytes as well, and we are in the way of the program here: nothing is refused."""
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)


class _NvtxBelow:
    """What the functions of `torch.cuda.nvtx` call. Torch's own comes first, for it may refuse."""

    def __init__(self, torchs: Any) -> None:
        self._torchs = torchs
        self._threads = threading.local()
        self._crossing: CrossingRanges | None = None
        self.is_on = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torchs, name)

    @property
    def _is_ours(self) -> bool:
        return self.is_on and _native.is_recording() and not injection.is_installed(injection.NVTX)

    def rangePushA(self, text: str) -> Any:  # noqa: N802
        depth = self._torchs.rangePushA(text)
        scope = _native.scope(_text(text)) if self._is_ours else None
        if scope is not None:
            scope.__enter__()
        self._open.append(scope)
        return depth

    def rangePop(self) -> Any:  # noqa: N802
        scope = self._open.pop() if self._open else None
        if scope is not None:
            scope.__exit__(None, None, None)
        return self._torchs.rangePop()

    @property
    def _open(self) -> list[Any]:
        """Of the calling thread, innermost last; None for one that was not recorded."""
        if not hasattr(self._threads, "open"):
            self._threads.open = []
        found: list[Any] = self._threads.open
        return found

    def rangeStartA(self, text: str) -> Any:  # noqa: N802
        number = self._torchs.rangeStartA(text)
        if self._is_ours:
            self._ranges.begin(number, _text(text))
        return number

    def rangeEnd(self, number: Any) -> Any:  # noqa: N802
        if self._is_ours:
            self._ranges.end(number)
        return self._torchs.rangeEnd(number)

    @property
    def _ranges(self) -> CrossingRanges:
        if self._crossing is None:
            self._crossing = CrossingRanges()
        return self._crossing

    def markA(self, text: str) -> Any:  # noqa: N802
        done = self._torchs.markA(text)
        if self._is_ours:
            _native.mark(_text(text))
        return done

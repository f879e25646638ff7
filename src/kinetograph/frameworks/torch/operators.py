"""Operators of torch, recorded for as long as a session wants them."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kinetograph import _native
from kinetograph.errors import NotAvailable
from kinetograph.fork_locks import hold_across_forks
from kinetograph.frameworks.torch.build import built_library, is_built, require_known
from kinetograph.frameworks.torch.enabled_flag import want_flag
from kinetograph.frameworks.torch.ranges import Ranges, traces_of_nodes
from kinetograph.injection import leave_operators_to_observer

__all__ = ["OperatorUse", "is_observing", "loaded_observer", "observer_lock", "times_observed"]

# As `Wants` of observer/inputs.h.
_SHAPES, _FLOPS, _OVERLOADS, _MODULES = 1, 2, 4, 8

times_observed = 0
"""By how many sessions, so far."""

_uses: list[OperatorUse] = []
_failure: NotAvailable | None = None
_failed_with: list[str | None] = []
# One that a signal handler of the same thread may take again; held across a fork, so a child can take it.
observer_lock = threading.RLock()
_library: ctypes.CDLL | None = None
_ranges: Ranges | None = None


class OperatorUse:
    """The part of one session: made before it records anything, for the observer may have to be built.

    >>> use = OperatorUse(torch, shapes=True)
    >>> use.start()
    >>> use.release()
    """

    def __init__(
        self,
        torch: Any,
        *,
        shapes: bool = False,
        flops: bool = False,
        overload_names: bool = False,
        modules: bool = False,
        may_build: bool = False,
    ) -> None:
        self.wants = _SHAPES * (shapes or flops) | _FLOPS * flops | _OVERLOADS * overload_names
        self.wants |= _MODULES * modules
        self.process = os.getpid()
        self.torch = torch
        _connect(torch, may_build or not _native.is_recording())

    def start(self) -> None:
        global times_observed
        with observer_lock:
            times_observed += 1
            self.process = os.getpid()
            _uses.append(self)
            try:
                _observe(self.torch)
            except BaseException:
                _uses.remove(self)
                raise

    def settle(self) -> None:
        """Before the session stops: record what other threads have ended of this one's."""
        if _library is not None:
            _library.kinetograph_torch_settle()

    def release(self) -> None:
        """Changes nothing where it was not started, or in a forked child."""
        if self.process != os.getpid():
            return
        with observer_lock:
            if self in _uses:
                _uses.remove(self)
            if _library is not None:
                _observe(self.torch)  # also behind an interrupt, which may have come before this

    def notes(self) -> Iterator[str]:
        """What this torch does not tell."""
        if _ranges is not None and _ranges.missing:
            yield _ranges.missing


def loaded_observer(torch: Any) -> ctypes.CDLL:
    """Built first if it has to be, unless a session would record that."""
    _connect(torch, not _native.is_recording())
    assert _library is not None
    return _library


def _connect(torch: Any, may_build: bool) -> None:
    """Load the observer and give it our recorder; it refuses one whose version it does not know."""
    if _library is not None:
        return
    if not may_build and not is_built(torch):
        require_known(torch.__version__)
        raise NotAvailable(
            "the observer for torch is not built, and building it now would be part of what another "
            "session records",
            hint="run `kinetograph build torch` once",
        )
    # Not under the lock: forks would wait for the compiler.
    path = _built_once(torch)
    with observer_lock:
        if _library is None:
            _load(path)


def _load(path: Path) -> None:
    global _library
    library = _loaded(path)
    recorder = ctypes.CDLL(str(Path(_native.__file__).parent / "libkinetograph.so"))
    if not library.kinetograph_torch_connect(recorder.kinetograph_record_table_for):
        raise NotAvailable(
            "the observer for torch does not know this version of the recorder",
            hint="reinstall kinetograph: pip install --force-reinstall kinetograph",
        )
    _library = library


def _loaded(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise NotAvailable(
            f"the observer for torch cannot be loaded: {error}",
            hint=f"delete {path}, and it is built again",
        ) from error


def _built_once(torch: Any) -> Path:
    """What could not be built is tried again by this process, and its children, if something has changed."""
    global _failure
    found = [os.environ.get(name) for name in ("CXX", "PATH", "XDG_CACHE_HOME", "HOME")]
    if _failure is not None and found == _failed_with and not is_built(torch):
        raise _failure.with_traceback(None)
    try:
        return built_library(torch)
    except NotAvailable as error:
        _failure, _failed_with[:] = error, found
        raise


def is_observing() -> bool:
    """Whether torch takes itself for profiled because of us."""
    return bool(_uses)


def _observe(torch: Any) -> None:
    """Let the observer see what all sessions together want. Called with the lock."""
    assert _library is not None
    _forget_parents()
    _library.kinetograph_torch_observe(bool(_uses), _wanted())
    _adapt(torch)


def _forget_parents() -> None:
    _uses[:] = (use for use in _uses if use.process == os.getpid())


def _wanted() -> int:
    wanted = 0
    for use in _uses:
        wanted |= use.wants
    return wanted


def _adapt(torch: Any) -> None:
    """What of torch looks otherwise while it is observed."""
    leave_operators_to_observer(bool(_uses))
    want_flag(torch, "observer", wanted=bool(_uses))
    _take_ranges(torch)


def _take_ranges(torch: Any) -> None:
    global _ranges
    if _ranges is None:
        _ranges = Ranges(torch)
    if _uses:
        assert _library is not None
        _ranges.install(_library, with_inputs=bool(_wanted() & _SHAPES))
    else:
        _ranges.remove()


def _leave_parent() -> None:
    """In a forked child, which has no session of its parent's; one of its own may have begun already."""
    traces_of_nodes.clear()
    if _library is None:
        return
    _library.kinetograph_torch_trace_leave_parent()
    if _uses:
        torch = _uses[0].torch
        _forget_parents()
        if not _uses:
            _library.kinetograph_torch_leave_parent()
        _adapt(torch)


hold_across_forks(observer_lock, _leave_parent)

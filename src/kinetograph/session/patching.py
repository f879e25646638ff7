"""`patch_torch`, `unpatch_torch`: ranges that a program makes by torch, where torch does not tell us."""

from __future__ import annotations

import os
import sys
import threading

from kinetograph.hints import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinetograph.frameworks.torch.patches import Patches
    from kinetograph.session.late_import import AfterImport

__all__ = ["patch_torch", "unpatch_torch"]

# One that a signal handler of the same thread may take again; held across a fork, so a child can take it.
_lock = threading.RLock()
_patches: Patches | None = None
_waiting: AfterImport | None = None
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def patch_torch() -> None:
    """Let ranges of `torch.profiler.record_function` and `torch.cuda.nvtx` be scopes of ours as well.

    >>> kg.patch_torch()
    >>> with kg.profile(), torch.cuda.nvtx.range("load"):
    ...     load()

    For where they do not come by themselves: without the observer of operators, and without
    `kg.nvtx.install()`. No range is ever recorded twice. Torch is not imported for that; one that is imported
    later is patched then. `kinetograph run` does this by itself. `unpatch_torch` undoes it.
    """
    global _waiting
    with _lock:
        if _patches is not None or _waiting is not None:
            return
        torch = sys.modules.get("torch")
        if torch is not None and hasattr(getattr(torch, "cuda", None), "nvtx"):
            _patch(torch)
            return
        from kinetograph.session.late_import import AfterImport

        _waiting = AfterImport("torch", _patch_imported, purpose="patch")
        _waiting.install()


def unpatch_torch() -> None:
    """Give torch its own functions back; without `patch_torch` before, nothing happens."""
    global _patches, _waiting
    with _lock:
        if _waiting is not None:
            _waiting.remove()
            _waiting = None
        if _patches is not None:
            _patches.undo()
            _patches = None


def _patch_imported(torch: Any) -> None:
    global _waiting
    with _lock:
        if _waiting is not None:
            _waiting = None
            _patch(torch)


def _patch(torch: Any) -> None:
    global _patches
    from kinetograph.session.scopes import load_python_side, load_torch_side

    load_python_side()
    load_torch_side()
    from kinetograph.frameworks.torch.patches import Patches

    _patches = Patches(torch)

"""Whether torch is patched, or will be once it is imported: for `patch_torch` and `unpatch_torch`."""

from __future__ import annotations

import sys
import threading

from kinetograph.fork_locks import hold_across_forks
from kinetograph.hints import TYPE_CHECKING, Any
from kinetograph.session.late_import import AfterImport
from kinetograph.session.scopes import load_torch_side

if TYPE_CHECKING:
    from kinetograph.frameworks.torch.patches import Patches

__all__ = ["patch", "undo"]

# One that a signal handler of the same thread may take again; held across a fork, so a child can take it.
_lock = threading.RLock()
_patches: Patches | None = None
_waiting: AfterImport | None = None
hold_across_forks(_lock)


def patch() -> None:
    """Now, or once torch is imported; twice is once."""
    global _waiting
    with _lock:
        if _patches is not None or _waiting is not None:
            return
        torch = sys.modules.get("torch")
        if torch is not None and hasattr(getattr(torch, "cuda", None), "nvtx"):
            _patch(torch)
            return
        _waiting = AfterImport("torch", _patch_imported, purpose="patch")
        _waiting.install()


def undo() -> None:
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
    """Programs without torch load nothing for it."""
    global _patches
    load_torch_side()
    from kinetograph.frameworks.torch.patches import Patches

    _patches = Patches(torch)

"""What Python calls its threads, for those that record without Python: operators of a framework, libraries.

A scope or a traced call names its thread by itself.
"""

from __future__ import annotations

import threading

from kinetograph import _native

__all__ = ["suggest_thread_names"]


def suggest_thread_names() -> None:
    """Names that a library was told stay, and so do those of threads that Python has not started."""
    names: dict[int, str] = {}
    for thread in threading.enumerate():
        if isinstance(thread, threading._DummyThread):
            continue
        try:
            # Greenlets that pass for threads have the number of the one that runs them, which comes first.
            names.setdefault(thread.native_id or 0, str(thread.name))
        except Exception:  # of a class of the program's
            continue
    for tid, name in names.items():
        _native.suggest_thread_name(tid, name)

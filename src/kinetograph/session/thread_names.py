"""What Python calls its threads, for those that record without Python: operators of a framework, libraries.

A scope or a traced call names its thread by itself.
"""

from __future__ import annotations

import threading

from kinetograph import _native

__all__ = ["suggest_thread_names"]


def suggest_thread_names() -> None:
    """Names that somebody else gave stay, and so do those of threads that Python has not started."""
    for thread in threading.enumerate():
        if thread.native_id is not None and not isinstance(thread, threading._DummyThread):
            _native.suggest_thread_name(thread.native_id, thread.name)

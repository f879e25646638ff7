"""`scope`, `mark`, `counter`: native, with their Python side connected."""

from __future__ import annotations

from kinetograph import _native
from kinetograph._native import counter, mark, scope
from kinetograph.session import decorate, details, observer

__all__ = ["counter", "mark", "record_function", "scope"]

_native.set_hooks(
    details.prepare,
    decorate.decorate,
    details.at_enter,
    details.at_exit,
    observer.at_enter,
    observer.at_exit,
)

record_function = scope

"""`scope`, `mark`, `counter`: native, with their Python side connected.

The Python side is needed only for decorators and for scopes with more than a name; it is imported by the first of
them and connects itself then, so that `import kinetograph` stays cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinetograph import _native
from kinetograph._native import counter, mark, scope

if TYPE_CHECKING:
    from kinetograph.session.details import Details

__all__ = ["counter", "mark", "record_function", "scope"]

record_function = scope


def _prepare_first(*args: Any, **options: Any) -> tuple[int, Details | None]:
    from kinetograph.session import details

    return details.prepare(*args, **options)


def _decorate_first(scope: Any, function: Any) -> Any:
    from kinetograph.session import decorate

    return decorate.decorate(scope, function)


_native.set_hook("prepare", _prepare_first)
_native.set_hook("decorate", _decorate_first)

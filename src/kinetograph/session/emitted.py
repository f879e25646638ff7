"""What another tool is told of a scope that has more than a name. The native scope calls `describe`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kinetograph import _native
from kinetograph.checks import require_text, spelled
from kinetograph.errors import KinetographError, warn_or_tell
from kinetograph.nvtx.colors import argb
from kinetograph.nvtx.ranges import Domain
from kinetograph.ranged import payload_number
from kinetograph.session.details import Details, emits_shapes, shape_members

__all__ = ["describe"]

_Read = TypeVar("_Read")

_NO_COLOR, _NO_CATEGORY = -1, 0
# Below are the kinds of scope.
_FIRST_CATEGORY = 101

_domain: Domain | None = None
# Names may be made as the program runs: so many warnings say what is wrong, and what is told stays in memory.
_MOST_TOLD = 100
_told: set[tuple[str, str]] = set()


def describe(scope: Any) -> tuple[str | None, int, int, int | float | None]:
    """Name (None: its own), color, category and payload.

    What is no such thing is left out with a warning: in a trace a scope may have any values by these names.
    """
    return (
        _name_with_shapes(scope.name, scope._details),
        _tried("color", _color, scope, _NO_COLOR),
        _tried("category", _category, scope, _NO_CATEGORY),
        _tried("payload", payload_number, scope, None),
    )


def _name_with_shapes(name: str, found: Details) -> str | None:
    if found.inputs is None or not emits_shapes():
        return None
    return f"{name}, sizes = {shape_members(found.inputs)['Input Dims']}"


def _tried(what: str, read: Callable[[Any], _Read], scope: Any, otherwise: _Read) -> _Read:
    """Values of all sorts come here, and what they raise is not for the program."""
    value = scope._details.metadata.get(what)
    if value is None:
        return otherwise
    try:
        return read(value)
    except KinetographError as error:
        _tell_once(scope.name, what, str(error))
    except Exception as error:
        _tell_once(scope.name, what, f"{what}: {_text_of(error)}")
    return otherwise


def _text_of(error: Exception) -> str:
    """The program's own may raise even here."""
    try:
        return str(error)
    except Exception:
        return spelled(error)


def _tell_once(name: str, what: str, why: str) -> None:
    """A scope may begin a million times, and have another value each time."""
    if (name, what) not in _told and len(_told) < _MOST_TOLD:
        _told.add((name, what))
        # The scope still has its name and the rest.
        warn_or_tell(f"the scope {name!r} goes to another tool without its {what}. {why}")


def _color(color: object) -> int:
    return argb(color) if _native.emits_to(itt=False) else _NO_COLOR  # ITT has none


def _category(category: Any) -> int:
    global _domain
    if not _native.emits_to(itt=False):
        return _NO_CATEGORY  # nor these
    require_text("category", category, hint="a name, or kind= for that of an operator")
    if _domain is None:
        _domain = Domain("kinetograph", _native.nvtx_scope_domain(), _FIRST_CATEGORY)
    return _domain.category(category)


_native.set_hook("describe_emitted", describe)

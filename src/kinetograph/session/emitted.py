"""What another tool is told of a scope that has more than a name. The native scope calls `describe`."""

from __future__ import annotations

from typing import Any

from kinetograph import _native
from kinetograph.errors import KinetographError
from kinetograph.nvtx.colors import argb
from kinetograph.nvtx.ranges import Domain
from kinetograph.ranged import payload_number
from kinetograph.session.details import Details, emits_shapes, shape_members

__all__ = ["describe"]

_NO_COLOR, _NO_CATEGORY = -1, 0
# Below are the kinds of scope.
_FIRST_CATEGORY = 101

_domain: Domain | None = None


def describe(scope: Any) -> tuple[str | None, int, int, int | float | None]:
    """Name (None: its own), color, category and payload. What is no such thing is left out, as in a trace."""
    found: Details = scope._details
    metadata = found.metadata
    return (
        _name_with_shapes(scope.name, found),
        _tried_color(metadata.get("color")),
        _category(metadata.get("category")),
        _tried_payload(metadata.get("payload")),
    )


def _name_with_shapes(name: str, found: Details) -> str | None:
    if found.inputs is None or not emits_shapes():
        return None
    dims = shape_members(found.inputs)["Input Dims"]
    if not _native.is_recording():
        found.inputs = None  # else the recorder is next to look at them
    return f"{name}, sizes = {dims}"


def _tried_color(color: object) -> int:
    try:
        return _NO_COLOR if color is None else argb(color)
    except KinetographError:
        return _NO_COLOR


def _category(category: object) -> int:
    global _domain
    if not isinstance(category, str):
        return _NO_CATEGORY
    if _domain is None:
        _domain = Domain("kinetograph", _native.nvtx_scope_domain(), _FIRST_CATEGORY)
    return _domain.category(category)


def _tried_payload(payload: object) -> int | float | None:
    try:
        return None if payload is None else payload_number(payload)
    except (KinetographError, TypeError, ValueError):
        return None


_native.set_hook("describe_emitted", describe)

"""What a peer has told, member by member: taken where it can be meant, and left out where it cannot."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kinetograph.errors import UsageError
from kinetograph.trace.formats import require_known_suffix

__all__ = ["told_number", "told_suffix", "told_text", "told_texts"]

_MOST = 1 << 63
_MOST_TEXTS, _LONGEST_TEXT = 100, 4096
_SUFFIX = re.compile(r"[\w.]{1,32}", re.ASCII)


def told_number(told: Mapping[str, Any], name: str) -> int | None:
    """One that can be computed with: no bool, and none of a thousand digits."""
    value = told.get(name)
    return value if type(value) is int and -_MOST < value < _MOST else None


def told_text(told: Mapping[str, Any], name: str) -> str:
    value = told.get(name)
    return "" if value is None else str(value)[:_LONGEST_TEXT]


def told_texts(told: Mapping[str, Any], name: str) -> list[str]:
    values = told.get(name)
    return [str(value)[:_LONGEST_TEXT] for value in values[:_MOST_TEXTS]] if isinstance(values, list) else []


def told_suffix(told: object) -> str:
    """Of a trace, without the first dot, and nothing else: it becomes part of a name."""
    suffix = str(told).lstrip(".")
    require_known_suffix(f".{suffix}")
    if not _SUFFIX.fullmatch(suffix):
        raise UsageError(f"expected the suffix of a trace, got {suffix[:100]!r}")
    return suffix

"""Colours as NVTX has them: one number, 0xAARRGGBB."""

from __future__ import annotations

from functools import lru_cache

from kinetograph.checks import require_int, spelled
from kinetograph.errors import UsageError

__all__ = ["argb"]

_OPAQUE = 0xFF000000

# CSS's words, and those that PyPI's nvtx knows.
_NAMES = {
    "black": 0x000000,
    "blue": 0x0000FF,
    "brown": 0xA52A2A,
    "cyan": 0x00FFFF,
    "darkgreen": 0x006400,
    "gray": 0x808080,
    "green": 0x008000,
    "grey": 0x808080,
    "lime": 0x00FF00,
    "magenta": 0xFF00FF,
    "maroon": 0x800000,
    "navy": 0x000080,
    "olive": 0x808000,
    "orange": 0xFFA500,
    "pink": 0xFFC0CB,
    "purple": 0x800080,
    "rapids": 0x7400FF,
    "red": 0xFF0000,
    "silver": 0xC0C0C0,
    "teal": 0x008080,
    "white": 0xFFFFFF,
    "yellow": 0xFFFF00,
}


def argb(color: object) -> int:
    """The number of a colour, which is a name, "#rrggbb", "#aarrggbb", or a number already.

    >>> hex(argb("red"))
    '0xffff0000'

    A number without alpha is opaque.
    """
    if isinstance(color, str):
        return _named(color)
    number = require_int("color", color, 0, (1 << 32) - 1, hint='a name, "#rrggbb", or 0xAARRGGBB')
    return number if number > 0xFFFFFF else number | _OPAQUE


@lru_cache(maxsize=256)
def _named(color: str) -> int:
    word = color.strip().lower()
    if word in _NAMES:
        return _NAMES[word] | _OPAQUE
    digits = word.removeprefix("#")
    if digits != word and len(digits) in (6, 8) and set(digits) <= set("0123456789abcdef"):
        return int(digits, 16) | (_OPAQUE if len(digits) == 6 else 0)
    raise UsageError(
        f"color: expected the name of a color, got {spelled(color)}",
        hint=f'"#rrggbb", 0xAARRGGBB, or one of {", ".join(_NAMES)}',
    )

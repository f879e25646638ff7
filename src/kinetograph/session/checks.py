"""Checks of single option values. Each error says what was expected, what came and what to do."""

from __future__ import annotations

from collections.abc import Iterable

from kinetograph.errors import KinetographError
from kinetograph.session.values import Value

__all__ = [
    "require_bool",
    "require_bools",
    "require_choice",
    "require_positive",
    "require_text",
    "text_tuple",
]


def require_bool(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise _wrong(name, "True or False", value)


def require_bools(options: Value) -> None:
    """Check every switch, which is what is on or off by default."""
    for name, default in options.defaults.items():
        if isinstance(default, bool):
            require_bool(name, getattr(options, name))


def require_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise _wrong(name, "a string", value)


def require_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise _wrong(name, " or ".join(map(repr, choices)), value)


def require_positive(name: str, value: object, kinds: tuple[type, ...], unit: str) -> None:
    """`kinds` are the number types allowed; bool is none of them although Python calls it an int."""
    if not isinstance(value, kinds) or isinstance(value, bool) or not value > 0:  # type: ignore[operator]
        raise _wrong(name, f"a positive number of {unit}", value)


def text_tuple(name: str, value: object) -> tuple[str, ...]:
    """The strings of an iterable as a tuple, so that a config that holds them stays a value."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise _wrong(name, "a list of strings", value)
    items = tuple(value)
    for item in items:
        require_text(f"{name}[...]", item)
    return items


def _wrong(name: str, expected: str, value: object) -> KinetographError:
    return KinetographError(
        f"{name}: expected {expected}, got {value!r} ({type(value).__name__})",
        hint=f"leave {name.partition('[')[0]} out to get its default",
    )

"""Checks of what users pass, at the door. Each error says what was expected, what came and what to do."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping

from kinetograph.errors import ArgumentError, KinetographError, UsageError
from kinetograph.hints import Any, Protocol

__all__ = [
    "path_text",
    "pattern_tuple",
    "require_bool",
    "require_bools",
    "require_callable",
    "require_choice",
    "require_folder",
    "require_instance",
    "require_int",
    "require_iterable",
    "require_pair",
    "require_positive",
    "require_text",
    "spelled",
    "text_tuple",
]

_LONGEST_VALUE = 200
_LEAST_OF_FORMATS = 1_000_000


class _Options(Protocol):
    @property
    def defaults(self) -> Mapping[str, Any]: ...


def require_bool(name: str, value: object, *, hint: str | None = None) -> None:
    if not isinstance(value, bool):
        raise _wrong(name, "True or False", value, hint)


def require_bools(options: _Options) -> None:
    """Check every switch, which is what is on or off by default."""
    for name, default in options.defaults.items():
        if isinstance(default, bool):
            require_bool(name, getattr(options, name))


def require_text(name: str, value: object, *, hint: str | None = None) -> None:
    if not isinstance(value, str):
        raise _wrong(name, "a string", value, hint)


def require_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise _wrong(name, " or ".join(map(repr, choices)), value, error=UsageError)


def require_positive(name: str, value: object, kinds: tuple[type, ...], unit: str, *, most: int) -> None:
    """`kinds` are the number types allowed; bool is none of them although Python calls it an int."""
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise _wrong(name, f"a positive number of {unit}", value)
    if not value > 0:  # type: ignore[operator]
        raise _wrong(name, f"a positive number of {unit}", value, error=UsageError)
    if value > most:  # type: ignore[operator]
        raise _wrong(name, f"at most {most} {unit}", value, error=UsageError)


def require_int(name: str, value: object, least: int, most: int, *, hint: str) -> int:
    """The whole number, of whatever type: NumPy's and others' count as well, but True is none."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise _wrong(name, "a whole number", value, hint) from None
    if not least <= number <= most:
        raise _wrong(name, _limits(number, least, most), value, hint, error=UsageError)
    return number


def _limits(number: int, least: int, most: int) -> str:
    """A limit that is only what a format can hold says nothing to who is on its other side."""
    if most < _LEAST_OF_FORMATS:
        return f"{least} to {most}"
    return f"at least {least}" if number < least else f"at most {most}"


def require_callable(name: str, value: object, *, hint: str) -> None:
    if not callable(value):
        raise _wrong(name, "a function", value, hint)


def require_instance(name: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise _wrong(name, kind.__name__, value, f"write {name}={kind.__name__}(...)")


def require_iterable(name: str, value: object, member: str, *, hint: str) -> None:
    """A string is none: nobody means its letters."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise _wrong(name, f"a set or list of {member}", value, hint)


def require_pair(name: str, value: object, *, hint: str) -> tuple[object, object]:
    """The two parts of a sequence of any type; letters of a string are none."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise _wrong(name, "a pair", value, hint)
    parts = tuple(value)
    if len(parts) != 2:
        raise _wrong(name, "a pair", value, hint, error=UsageError)
    return parts[0], parts[1]


def text_tuple(name: str, value: object) -> tuple[str, ...]:
    """The strings of an iterable as a tuple, so that a config that holds them stays a value."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise _wrong(name, "a list of strings", value)
    items = tuple(value)
    for item in items:
        require_text(f"{name}[...]", item)
    return items


def pattern_tuple(name: str, value: object) -> tuple[str, ...]:
    """The same of patterns that names and paths are compared with: none is empty, or can never be equal."""
    patterns = text_tuple(name, value)
    for pattern in patterns:
        if not pattern or not _is_encodable(pattern):
            raise _wrong(f"{name}[...]", "the name of a module, or a path", pattern, "'*' stands for all")
    return patterns


def path_text(name: str, value: object, *, or_none: bool = False) -> str:
    """The path as a string that the system can take."""
    text: object = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if not isinstance(text, str) or not text or not _is_encodable(text):
        hint = f"leave {name} out" if or_none else "pass a str or a pathlib.Path"
        error = ArgumentError if text is None else UsageError
        raise _wrong(name, "a path or None" if or_none else "a path", value, hint, error=error)
    return text


def _is_encodable(path: str) -> bool:
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def require_folder(name: str, folder: str) -> None:
    """That files can be made in it."""
    if not os.path.isdir(folder):
        raise UsageError(f"{name}: there is no folder {folder!r}", hint="make it first, or name another")
    error = _making_a_file_fails_with(folder)
    if error is not None:
        raise UsageError(
            f"{name}: the folder {folder!r} cannot be written to: {error.strerror}",
            hint="name another folder",
        )


def _making_a_file_fails_with(folder: str) -> OSError | None:
    """Tried, for permissions do not tell: root has all of them, also where there is no place for files."""
    path = os.path.join(folder, f".kinetograph-{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        os.unlink(path)
    except OSError as error:
        return error
    return None


def spelled(value: object) -> str:
    """The repr, or a word for a value that has none: what users pass must not break the message about it."""
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__} without a repr>"


def _wrong(
    name: str,
    expected: str,
    value: object,
    hint: str | None = None,
    *,
    error: type[KinetographError] = ArgumentError,
) -> KinetographError:
    got = spelled(value)
    if len(got) > _LONGEST_VALUE:
        got = f"{got[:_LONGEST_VALUE]}..."
    return error(
        f"{name}: expected {expected}, got {got} ({type(value).__name__})",
        hint=hint or f"leave {name.partition('[')[0]} out to get its default",
    )

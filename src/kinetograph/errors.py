"""The errors users meet: what was expected, what came, and on a `hint:` line what to do. And warnings."""

from __future__ import annotations

import sys
import warnings

__all__ = [
    "ArgumentError",
    "KinetographError",
    "NotAvailable",
    "StateError",
    "TraceFormatError",
    "UsageError",
    "tell_on_stderr",
    "warn_program",
]


class KinetographError(Exception):
    """Root of all errors raised on purpose by Kinetograph."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(f"{message}\nhint: {hint}" if hint else message)
        self.hint = hint


class ArgumentError(KinetographError, TypeError):
    """An argument of the wrong type."""


class UsageError(KinetographError, ValueError):
    """An argument of the right type that cannot be meant."""


class StateError(KinetographError, RuntimeError, AssertionError):
    """A call that comes too early or too late. Where PyTorch has one, it fails an assertion."""


class NotAvailable(KinetographError):  # noqa: N818  (a state, not a fault)
    """A part that is missing here: not built, not installed, or not landed yet."""


def warn_program(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and show the line of the program that called us, however deep in here we are."""
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "kinetograph":
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(text, category, stacklevel=level)


def tell_on_stderr(text: str) -> None:
    """Or nowhere: without a stderr, `print` would take stdout, which is the program's."""
    if sys.stderr is not None:
        print(f"kinetograph: {text}", file=sys.stderr)


def warn_or_tell(text: str) -> None:
    """Warn, where what comes behind it must be done also if warnings are errors."""
    try:
        warn_program(text)
    except Warning:
        tell_on_stderr(text)


class TraceFormatError(KinetographError):
    """A file that is no trace we can read; `offset` is the byte of its uncompressed text that is wrong."""

    def __init__(self, message: str, *, offset: int | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.offset = offset

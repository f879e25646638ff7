"""The errors users meet. Each says what was expected, what came, and, on a `hint:` line, what to do."""

from __future__ import annotations

__all__ = ["KinetographError", "NotAvailable", "TraceFormatError"]


class KinetographError(Exception):
    """Root of all errors raised on purpose by Kinetograph."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(f"{message}\nhint: {hint}" if hint else message)
        self.hint = hint


class NotAvailable(KinetographError):  # noqa: N818  (a state, not a fault)
    """A part that is missing here: not built, not installed, or not landed yet."""


class TraceFormatError(KinetographError):
    """A file that is no trace we can read; `offset` is the byte of its uncompressed text that is wrong."""

    def __init__(self, message: str, *, offset: int | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.offset = offset

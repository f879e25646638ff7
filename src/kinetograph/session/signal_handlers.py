"""Whether an exception came from a signal handler, which Python runs in the middle of any function."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import CodeType, TracebackType
from typing import Any

__all__ = ["is_of_a_signal_handler"]


def is_of_a_signal_handler(error: BaseException) -> bool:
    """Its traceback tells: a handler in Python stands there, and Ctrl-C was raised by no statement.

    Only the main thread runs handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        return False
    entries = list(_entries(error.__traceback__))
    handlers = set(_handler_codes())
    if any(entry.tb_frame.f_code in handlers for entry in entries):
        return True
    return isinstance(error, KeyboardInterrupt) and bool(entries) and not _is_raise_statement(entries[-1])


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _handler_codes() -> Iterator[CodeType]:
    # Here, for `import kinetograph` needs neither of these.
    import signal

    for number in signal.valid_signals():
        code = _code_of(signal.getsignal(number))
        if code is not None:
            yield code


def _code_of(handler: Any) -> CodeType | None:
    """Of a function, a method, a partial of one, or an object that can be called."""
    handler = getattr(handler, "func", handler)
    for function in (handler, getattr(handler, "__func__", None), vars(type(handler)).get("__call__")):
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None


def _is_raise_statement(entry: TracebackType) -> bool:
    """`signal.default_int_handler` is in C and leaves no entry: it raises where the program just was."""
    import opcode

    code = entry.tb_frame.f_code.co_code
    return 0 <= entry.tb_lasti < len(code) and code[entry.tb_lasti] == opcode.opmap["RAISE_VARARGS"]

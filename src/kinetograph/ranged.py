"""What `kg.nvtx` and `kg.itt` have in common: functions within a range, and numbers sent along with one."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from kinetograph.checks import require_callable, spelled
from kinetograph.errors import ArgumentError, UsageError

__all__ = ["payload_number", "ranged"]

_CO_GENERATOR, _CO_COROUTINE, _CO_ASYNC_GENERATOR = 0x20, 0x80, 0x200


def ranged(block: AbstractContextManager[Any], function: Callable[..., Any], what: str) -> Callable[..., Any]:
    """The function with `block` around each call."""
    require_callable("function", function, hint=f'as a decorator write @{what}("name")')
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    if flags & (_CO_GENERATOR | _CO_COROUTINE | _CO_ASYNC_GENERATOR):
        raise ArgumentError(
            f"{what} nests with other ranges of its thread, and {function.__qualname__} gives way to others",
            hint="decorate it with kg.scope, which kg.emit_nvtx() and kg.emit_itt() send as well",
        )

    @functools.wraps(function)
    def within(*args: Any, **options: Any) -> Any:
        with block:
            return function(*args, **options)

    return within


def payload_number(payload: Any) -> int | float:
    """An int of 64 bits or a float, also of NumPy's."""
    try:
        number: int = operator.index(payload)
    except TypeError:
        return _real(payload)
    if not -(1 << 63) <= number < 1 << 64:
        raise UsageError(
            f"payload: expected a number of 64 bits, got {spelled(payload)}", hint="float(payload)"
        )
    return number


def _real(payload: Any) -> float:
    try:
        if not isinstance(payload, (str, bytes)):
            return float(payload)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ArgumentError(
        f"payload: expected an int or a float, got {spelled(payload)} ({type(payload).__name__})",
        hint="texts belong into the message"
        if isinstance(payload, (str, bytes))
        else "a payload is one number, such as len(payload)",
    )

"""The way from our functions to the program's: handlers, callbacks, schedules.

Whatever else our functions call is not the program's doing, and the collector of calls leaves it out. It
knows this function by its name (`code_names.cpp`).
"""

from __future__ import annotations

from collections.abc import Callable

from kinetograph.hints import ParamSpec, TypeVar

__all__ = ["call_program"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def call_program(function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    return function(*args, **kwargs)

"""`@kg.scope("name")`: which form the wrapper takes.

A plain function becomes a native callable. An `async def` is one span from its first step to its last, on the
lane of its task. A generator is one span per run, so that the time its caller spends between items is not
counted.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Generator
from types import FunctionType
from typing import Any

from kinetograph import _native
from kinetograph.checks import require_callable
from kinetograph.errors import ArgumentError

__all__ = ["decorate"]

_IMPLICIT_CLASSMETHODS = ("__init_subclass__", "__class_getitem__")
"""A class makes class methods of them, but only of plain functions."""

_CO_GENERATOR = 0x20
_CO_COROUTINE = 0x80
_CO_ASYNC_GENERATOR = 0x200


def decorate(scope: Any, function: Any) -> Any:
    decorated = _decorated(scope, function)
    is_implicit = isinstance(function, FunctionType) and function.__name__ in _IMPLICIT_CLASSMETHODS
    return _ImplicitClassMethod(decorated) if is_implicit else decorated


def _decorated(scope: Any, function: Any) -> Any:
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(_decorated(scope, function.__func__))
    if isinstance(function, type):
        raise ArgumentError(
            f"a scope decorates functions, got the class {function.__qualname__}",
            hint="put @kg.scope(...) above its __init__, or another of its methods",
        )
    require_callable("@kg.scope", function, hint="put @kg.scope(...) directly above a def")
    flags = getattr(_code_of(function), "co_flags", 0)
    if flags & _CO_COROUTINE:
        return _around_coroutine(scope, function)
    if flags & _CO_ASYNC_GENERATOR:
        return _around_async_generator(scope, function)
    if flags & _CO_GENERATOR:
        return _around_generator(scope, function)
    return functools.update_wrapper(_native.ScopedFunction(scope, function), function)


class _ImplicitClassMethod(classmethod):  # type: ignore[type-arg]
    """Can be called, for those who write `@classmethod` above it all the same."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__func__(*args, **kwargs)


def _code_of(function: Any) -> Any:
    """What runs when it is called, behind partials and objects that can be called."""
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None)
    return code if code is not None else getattr(type(function).__call__, "__code__", None)


def _around_coroutine(scope: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def scoped(*args: Any, **kwargs: Any) -> Any:
        with scope:
            return await function(*args, **kwargs)

    return scoped


def _around_generator(scope: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def scoped(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        # In lists that are emptied: while it waits, a generator holds neither what it gave nor what it got.
        resume: Callable[[Any], Any] = generator.send
        got: list[Any] = [None]
        while True:
            try:
                with scope:
                    given = [resume(got.pop())]
            except StopIteration as stop:
                return stop.value
            try:
                resume, got = generator.send, [(yield given.pop())]
            except GeneratorExit:
                with scope:
                    generator.close()
                raise
            except BaseException as error:
                resume, got = generator.throw, [error]

    return scoped


def _around_async_generator(scope: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def scoped(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        generator = function(*args, **kwargs)
        resume: Callable[[Any], Any] = generator.asend
        got: list[Any] = [None]
        while True:
            try:
                with scope:
                    given = [await resume(got.pop())]
            except StopAsyncIteration:
                return
            try:
                resume, got = generator.asend, [(yield given.pop())]
            except GeneratorExit:
                with scope:
                    await generator.aclose()
                raise
            except BaseException as error:
                resume, got = generator.athrow, [error]

    return scoped


_native.set_hook("decorate", decorate)

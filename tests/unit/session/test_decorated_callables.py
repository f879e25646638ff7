"""`kg.scope(...)(something)`, where what runs is not the function that was handed over."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import kinetograph as kg
from recorded import recording, tree


async def wait(log: list[str], value: int) -> int:
    with kg.scope("inside"):
        await asyncio.sleep(0)
    log.append("done")
    return value


class Waits:
    async def __call__(self, log: list[str], value: int) -> int:
        return await wait(log, value)


class Counts:
    def __call__(self, count: int) -> Iterator[int]:
        yield from range(count)


class CountsLater:
    async def __call__(self, count: int) -> AsyncIterator[int]:
        for number in range(count):
            await asyncio.sleep(0)
            yield number


@pytest.mark.parametrize(
    "function",
    [
        functools.partial(wait),
        functools.partial(functools.partial(wait), value=7),
        Waits(),
        functools.partial(Waits()),
        Waits().__call__,
    ],
)
def test_a_coroutine_behind_a_partial_or_an_object_is_one_span_to_its_end(
    function: Callable[..., Any],
) -> None:
    log: list[str] = []
    scoped = kg.scope("outside")(function)
    assert inspect.iscoroutinefunction(scoped)
    with recording() as window:
        assert asyncio.run(scoped(log, value=7)) == 7
    assert log == ["done"]
    assert tree(window.trace) == [("outside", [("inside", [])])]


def test_a_generator_behind_an_object_is_one_span_per_run() -> None:
    scoped = kg.scope("outside")(functools.partial(Counts(), 2))
    with recording() as window:
        assert list(scoped()) == [0, 1]
    assert [name for name, _ in tree(window.trace)] == ["outside"] * 3


def test_an_async_generator_behind_an_object_is_one_span_per_run() -> None:
    scoped = kg.scope("outside")(CountsLater())

    async def collect() -> list[int]:
        return [number async for number in scoped(2)]

    with recording() as window:
        assert asyncio.run(collect()) == [0, 1]
    assert [name for name, _ in tree(window.trace)] == ["outside"] * 3

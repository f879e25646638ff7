"""Our scopes, marks and decorated calls, recorded and off."""

from collections.abc import Iterator
from contextlib import contextmanager

import kinetograph as kg
from benchmarks.harness import Contender


@contextmanager
def recording() -> Iterator[None]:
    kg.enable_profiler(kg.ProfilerConfig(), {kg.ActivityType.CPU})
    try:
        yield
    finally:
        kg.disable_profiler()


def scope(count: int) -> None:
    for _ in range(count):
        with kg.scope("x"):
            pass


def reused_scope(count: int) -> None:
    reused = kg.scope("x")
    for _ in range(count):
        with reused:
            pass


def mark(count: int) -> None:
    for _ in range(count):
        kg.mark("x")


def plain_function() -> None:
    pass


decorated_function = kg.scope("x")(plain_function)


def plain_call(count: int) -> None:
    for _ in range(count):
        plain_function()


def decorated_call(count: int) -> None:
    for _ in range(count):
        decorated_function()


def contenders() -> list[Contender]:
    return [
        Contender("kg.scope recorded", scope, recording),
        Contender("kg.scope off", scope),
        Contender("kg.scope reused, recorded", reused_scope, recording),
        Contender("kg.scope as decorator, recorded", decorated_call, recording, plain_call),
        Contender("kg.scope as decorator, off", decorated_call, baseline=plain_call),
        Contender("kg.mark recorded", mark, recording),
        Contender("kg.mark off", mark),
    ]

"""The hand-written floors of `benchmarks/floor`."""

from benchmarks.floor import load_floor
from benchmarks.harness import Contender

floor = load_floor()


def empty(count: int) -> None:
    for _ in range(count):
        with floor.empty("x"):
            pass


def span(count: int) -> None:
    for _ in range(count):
        with floor.span("x"):
            pass


def bound_empty(count: int) -> None:
    for _ in range(count):
        with floor.bound_empty("x"):
            pass


def bound_span(count: int) -> None:
    for _ in range(count):
        with floor.bound_span("x"):
            pass


def begin_end(count: int) -> None:
    for _ in range(count):
        floor.begin("x")
        floor.end()


def mark(count: int) -> None:
    for _ in range(count):
        floor.mark("x")


def nothing(count: int) -> None:
    for _ in range(count):
        floor.nothing("x")


def plain_function() -> None:
    pass


wrapped_function = floor.wrap(plain_function)


def plain_call(count: int) -> None:
    for _ in range(count):
        plain_function()


def wrapped_call(count: int) -> None:
    for _ in range(count):
        wrapped_function()


def contenders() -> list[Contender]:
    return [
        Contender("floor: empty context manager, bound once", bound_empty),
        Contender("floor: clock twice, 32 bytes, bound once", bound_span),
        Contender("floor: empty context manager", empty),
        Contender("floor: clock twice, 32 bytes", span),
        Contender("floor: begin(); end()", begin_end),
        Contender("floor: decorated call", wrapped_call, baseline=plain_call),
        Contender("floor: mark", mark),
        Contender("floor: a call that does nothing", nothing),
    ]

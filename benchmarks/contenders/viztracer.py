"""VizTracer's named ranges, with the tracer running and stopped."""

from collections.abc import Iterator
from contextlib import contextmanager

from viztracer import VizTracer

from benchmarks.harness import Contender

tracer = VizTracer(verbose=0, tracer_entries=100_000)


@contextmanager
def tracing() -> Iterator[None]:
    tracer.start()
    try:
        yield
    finally:
        tracer.stop()
        tracer.clear()


def log_event(count: int) -> None:
    for _ in range(count):
        with tracer.log_event("x"):
            pass


def contenders() -> list[Contender]:
    return [
        Contender("viztracer log_event, recorded", log_event, tracing, count=1_000),
        Contender("viztracer log_event, off", log_event, count=1_000),
    ]

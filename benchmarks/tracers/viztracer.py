"""VizTracer, with and without C functions, and leaving out short calls."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from viztracer import VizTracer

from benchmarks.traced import Traced, in_all_programs


def tracing(**options: Any) -> Callable[[], AbstractContextManager[None]]:
    tracer = VizTracer(verbose=0, **options)

    @contextmanager
    def session() -> Iterator[None]:
        tracer.start()
        try:
            yield
        finally:
            tracer.stop()
            tracer.clear()

    return session


def contenders() -> list[Traced]:
    return [
        *in_all_programs("viztracer, ignore_c_function", tracing(ignore_c_function=True)),
        *in_all_programs("viztracer", tracing()),
        *in_all_programs("viztracer, min. 10 us", tracing(min_duration=10)),
    ]

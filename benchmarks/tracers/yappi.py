"""yappi, which adds up per function and thread."""

from collections.abc import Iterator
from contextlib import contextmanager

import yappi

from benchmarks.traced import Traced, in_all_programs


@contextmanager
def adding_up() -> Iterator[None]:
    yappi.set_clock_type("wall")
    yappi.start()
    try:
        yield
    finally:
        yappi.stop()
        yappi.clear_stats()


def contenders() -> list[Traced]:
    return in_all_programs("yappi, wall", adding_up)

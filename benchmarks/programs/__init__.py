"""Python programs to be traced: each does the same work every time, in one thread, mostly by calling."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.programs import pure_json, scheduler, small

MODULES = ("benchmarks.programs", "json", "re")
"""Where the functions of all programs live."""


@dataclass(frozen=True)
class Program:
    """`run(size)` is what is measured, `run(warm)` the same in little."""

    name: str
    run: Callable[[int], object]
    size: int
    warm: int


PROGRAMS = [
    Program("tiny", small.call_tiny, size=60_000, warm=3_000),
    Program("fib", small.fib, size=22, warm=15),
    Program("scheduler", scheduler.run, size=1_200, warm=60),
    Program("pure json", pure_json.run, size=10, warm=1),
]

"""Python programs to be traced: each does the same work every time, in one thread, mostly by calling."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.programs import pure_json, scheduler, small

MODULES = ("benchmarks.programs", "json", "re")
"""Where the functions of all programs live."""


@dataclass(frozen=True)
class Program:
    """`run()` takes a millisecond or two."""

    name: str
    function: Callable[[int], object]
    size: int

    def run(self) -> None:
        self.function(self.size)


PROGRAMS = [
    Program("tiny", small.call_tiny, size=8_000),
    Program("fib", small.fib, size=18),
    Program("scheduler", scheduler.run, size=150),
    Program("pure json", pure_json.run, size=1),
]

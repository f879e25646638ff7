"""What tracing adds to each call of a program: one contender per tool and program."""

import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from benchmarks.programs import PROGRAMS, Program

ALL_THREADS = ", all threads"
BARE = ", bare"
TRACED = ", traced"
RUNS = 9


@dataclass(frozen=True)
class Traced:
    """A program that runs under `session`, and in the same round without it."""

    tool: str
    program: Program
    session: Callable[[], AbstractContextManager[Any]]

    @property
    def name(self) -> str:
        return sample_name(self.program.name, self.tool)

    def figures(self) -> dict[str, float]:
        """Nanoseconds per call: what was added, in the program's thread and in all, and out of what."""
        bare, all_bare = cpu_ns(self.program)
        with self.session():
            traced, all_traced = cpu_ns(self.program)
        return {
            self.name: traced - bare,
            self.name + ALL_THREADS: all_traced - all_bare,
            self.name + BARE: bare,
            self.name + TRACED: traced,
        }


def sample_name(program: str, tool: str) -> str:
    return f"{program} / {tool}"


def in_all_programs(tool: str, session: Callable[[], AbstractContextManager[Any]]) -> list[Traced]:
    return [Traced(tool, program, session) for program in PROGRAMS]


def cpu_ns(program: Program) -> tuple[float, float]:
    """Per call, of this thread and of all.

    Of many short runs the one in the middle: on a machine that is shared, it is seldom interrupted.
    """
    gc.collect()  # what the session before left behind is not ours to pay
    program.run()  # hooks enter or leave the code, the interpreter specialises it again
    begin = time.process_time_ns()
    thread = statistics.median(thread_ns(program) for _ in range(RUNS))
    process = (time.process_time_ns() - begin) / RUNS
    return thread / call_count(program), process / call_count(program)


def thread_ns(program: Program) -> int:
    begin = time.thread_time_ns()
    program.run()
    return time.thread_time_ns() - begin


@cache
def call_count(program: Program) -> int:
    """How many calls, and later runs of generators, the interpreter makes in one run."""
    counted = 0

    def count(*_: object) -> None:
        nonlocal counted
        counted += 1

    with counting(count):
        program.run()
    return counted


@contextmanager
def counting(count: Callable[..., None]) -> Iterator[None]:
    if sys.version_info < (3, 12):
        sys.setprofile(lambda frame, event, argument: count() if event == "call" else None)
        yield
        sys.setprofile(None)
    else:
        with monitored({event: count for event in ("PY_START", "PY_RESUME", "PY_THROW")}):
            yield


@contextmanager
def monitored(callbacks: dict[str, Callable[..., object]], tool: int = 4) -> Iterator[None]:
    """Have sys.monitoring (Python 3.12) call these."""
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    bits = {name: getattr(monitoring.events, name) for name in callbacks}
    monitoring.use_tool_id(tool, "benchmarks")
    for name, callback in callbacks.items():
        monitoring.register_callback(tool, bits[name], callback)
    # C_RETURN and C_RAISE come with CALL and cannot be asked for.
    monitoring.set_events(tool, sum(bit for name, bit in bits.items() if not name.startswith("C_")))
    try:
        yield
    finally:
        monitoring.set_events(tool, 0)
        for name in callbacks:
            monitoring.register_callback(tool, bits[name], None)
        monitoring.free_tool_id(tool)

"""Measure contenders round robin, each tool in a process of its own.

A shared machine drifts, so figures of one round belong together: ratios are taken per round and their median
is the answer. A tool may leave hooks behind, so each lives in a worker process, which measures on request.
"""

import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import zip_longest
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Protocol

Loop = Callable[[int], None]


def empty_loop(count: int) -> None:
    for _ in range(count):
        pass


class Measured(Protocol):
    """Anything that can be measured again and again; one measurement may give several named figures."""

    @property
    def name(self) -> str: ...

    def figures(self) -> dict[str, float]: ...


@dataclass(frozen=True)
class Contender:
    """A loop that does one thing `count` times inside `session`; `baseline` is the loop without it."""

    name: str
    loop: Loop
    session: Callable[[], AbstractContextManager[Any]] = nullcontext
    baseline: Loop = empty_loop
    count: int = 20_000

    def figures(self) -> dict[str, float]:
        """Thread CPU time of one iteration over the baseline."""
        with self.session():
            self.loop(self.count // 10)  # the interpreter specialises, pages and caches warm up
            return {self.name: thread_ns(self.loop, self.count) - thread_ns(self.baseline, self.count)}


def thread_ns(loop: Loop, count: int) -> float:
    start = time.thread_time_ns()
    loop(count)
    return (time.thread_time_ns() - start) / count


@dataclass
class Samples:
    """One figure per contender and round: equal positions were measured close to each other."""

    by_name: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        self.by_name.setdefault(name, []).append(value)

    def __contains__(self, name: str) -> bool:
        return name in self.by_name

    def median(self, name: str) -> float:
        return statistics.median(self.by_name[name])

    def best(self, name: str) -> float:
        return min(self.by_name[name])

    def quiet(self, name: str) -> float:
        """The lower quartile: what a busy machine disturbs little, and one lucky round not at all."""
        return sorted(self.by_name[name])[len(self.by_name[name]) // 4]

    def added(self, name: str, bare: str) -> float:
        """In quiet rounds of `name`, over quiet ones of `bare`."""
        return self.quiet(name) - self.quiet(bare)

    def difference(self, name: str, other: str) -> float:
        """Median over the rounds of `name` - `other`."""
        pairs = zip(self.by_name[name], self.by_name[other], strict=True)
        return statistics.median(mine - theirs for mine, theirs in pairs)

    def ratio(self, name: str, other: str) -> float:
        """Median over the rounds of `name` / `other`."""
        pairs = zip(self.by_name[name], self.by_name[other], strict=True)
        return statistics.median(mine / theirs for mine, theirs in pairs)


class Worker:
    """A process that holds the contenders of one module and measures the one it is asked for."""

    def __init__(self, module: str) -> None:
        context = get_context("spawn")
        self.connection, remote = context.Pipe()
        self.process = context.Process(target=serve, args=(module, remote), daemon=True)
        self.process.start()
        remote.close()  # ours to close, so that a worker that dies ends `recv` instead of leaving it waiting
        self.names: list[str] = self.connection.recv()

    def figures(self, name: str) -> dict[str, float]:
        self.connection.send(name)
        figures: dict[str, float] = self.connection.recv()
        return figures

    def close(self) -> None:
        self.connection.send(None)
        self.process.join()


def serve(module: str, connection: Connection) -> None:
    contenders: list[Measured] = importlib.import_module(module).contenders()
    by_name = {contender.name: contender for contender in contenders}
    connection.send(list(by_name))
    while (name := connection.recv()) is not None:
        connection.send(by_name[name].figures())


@contextmanager
def running_workers(modules: Iterable[str]) -> Iterator[list[Worker]]:
    workers = [Worker(module) for module in modules]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.close()


def interleave(modules: list[str], *, generations: int, rounds: int) -> Samples:
    """Round robin over all contenders. New processes per generation even out the luck of memory layout."""
    samples = Samples()
    for _ in range(generations):
        with running_workers(modules) as workers:
            for _ in range(rounds):
                measure_round(workers, samples)
    return samples


def measure_round(workers: list[Worker], samples: Samples) -> None:
    """The first contender of every tool, then the second of each: what is compared is measured close by."""
    for names in zip_longest(*(worker.names for worker in workers)):
        for worker, name in zip(workers, names, strict=True):
            if name is not None:
                for figure, value in worker.figures(name).items():
                    samples.add(figure, value)


def in_fresh_process(function: Callable[..., Any], *args: Any) -> Any:
    """Call a module-level function where nothing else has run yet."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args).result()


def is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None

"""What sampling costs: the program's own thread, which should not notice, and the sampler's."""

import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import kinetograph as kg
from benchmarks.report import Claim, claims_table, table
from kinetograph import _native

RATES = (0, 100, 1000, 10_000)  # 0: no session
CALLS_PER_FIB = 21_891


def run(*, quick: bool) -> str:
    own, sampler = measure(rounds=3 if quick else 25)
    ratio = statistics.median(with_it / without for with_it, without in zip(own[1000], own[0], strict=True))
    claims = [
        Claim("a program sampled at 1000 Hz, CPU time of its thread over that without", ratio, at_most=1.03),
        Claim(
            "the sampler at 100 Hz and 11 threads, % of one core", statistics.median(sampler[100]), at_most=2
        ),
    ]
    return "\n".join(["# Sampling", "", cost_table(own, sampler), "", claims_table(claims)])


def measure(*, rounds: int) -> tuple[dict[int, list[float]], dict[int, list[float]]]:
    """Per rate and round: nanoseconds of the program's thread per call, and % of a core for the sampler."""
    own: dict[int, list[float]] = {rate: [] for rate in RATES}
    sampler: dict[int, list[float]] = {rate: [] for rate in RATES}
    with waiting_threads(10):
        for _ in range(rounds):
            for rate in RATES:
                with sampled_at(rate):
                    begin, used = time.perf_counter_ns(), _native.sample_counts()[-1]
                    own[rate].append(ns_per_call())
                    wall = time.perf_counter_ns() - begin
                    sampler[rate].append(100 * (_native.sample_counts()[-1] - used) / wall)
    return own, sampler


@contextmanager
def sampled_at(rate: int) -> Iterator[None]:
    if rate == 0:
        yield
        return
    calls = kg.CallOptions(mode="sample", sample_hz=rate)
    kg.enable_profiler(kg.ProfilerConfig(calls=calls), {kg.ActivityType.CPU}, all_threads=True)
    yield
    kg.disable_profiler()


@contextmanager
def waiting_threads(count: int) -> Iterator[None]:
    """A program has threads that wait; they are looked at, too."""
    release = threading.Event()
    threads = [threading.Thread(target=release.wait) for _ in range(count)]
    for thread in threads:
        thread.start()
    yield
    release.set()
    for thread in threads:
        thread.join()


def ns_per_call() -> float:
    times = []
    for _ in range(5):
        start = time.thread_time_ns()
        for _ in range(10):
            fib(20)
        times.append((time.thread_time_ns() - start) / 10 / CALLS_PER_FIB)
    return statistics.median(times)


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def cost_table(own: dict[int, list[float]], sampler: dict[int, list[float]]) -> str:
    rows = [
        (
            f"{rate} Hz" if rate else "not sampled",
            f"{statistics.median(own[rate]):.1f}",
            f"{statistics.median(sampler[rate]):.2f}",
        )
        for rate in RATES
    ]
    return table(("11 threads, one busy", "ns per call of fib", "sampler, % of a core"), rows)

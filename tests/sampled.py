"""Sampling a window in a test: it lasts until the sampler has looked often enough, not for a time."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from tests.recorded import Window

import kinetograph as kg
from kinetograph import _native
from kinetograph.session.recording import Session


def start(all_threads: bool = True, recording: kg.RecordOptions | None = None, **options: Any) -> Session:
    calls = kg.CallOptions(**({"mode": "sample", "sample_hz": 1000} | options))
    config = kg.ProfilerConfig(calls=calls, recording=recording or kg.RecordOptions())
    return Session.start(config, {kg.ActivityType.CPU}, (), all_threads)


@contextmanager
def sampling(**options: Any) -> Iterator[Window]:
    window = Window()
    session = start(**options)
    try:
        yield window
    finally:
        window.trace = session.stop()


def rounds() -> int:
    """How often the sampler has looked at all threads."""
    return _native.sample_counts()[0]


def wait_for_rounds(count: int = 3) -> None:
    wanted, deadline = rounds() + count, time.monotonic() + 60
    while rounds() < wanted:
        assert time.monotonic() < deadline, "the sampler does not run"
        time.sleep(0.001)


def spin_for_rounds(count: int) -> float:
    """Keeps the processor busy meanwhile, and tells for how many seconds."""
    begin, wanted = time.perf_counter(), rounds() + count
    while rounds() < wanted:
        pass
    return time.perf_counter() - begin


class Waiting:
    """Threads that stand in `function(wait)`, where `wait()` returns when the block ends."""

    def __init__(self, *functions: Callable[[Callable[[], object]], object]) -> None:
        self._release = threading.Event()
        self._arrived = threading.Semaphore(0)
        self.threads = [threading.Thread(target=function, args=(self._wait,)) for function in functions]

    def _wait(self) -> None:
        self._arrived.release()
        self._release.wait()

    def __enter__(self) -> Waiting:
        for thread in self.threads:
            thread.start()
        for _ in self.threads:
            self._arrived.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._release.set()
        for thread in self.threads:
            thread.join()


def spans_of(trace: kg.Trace, thread: int | None) -> list[kg.Event]:
    return [
        event for event in trace.events if event.thread_id == thread and event.category == "python_function"
    ]


def functions(trace: kg.Trace, thread: int | None) -> list[str]:
    """What stands behind the colon of the names, in the order of their start, outermost first."""
    return [event.name.partition("): ")[2] for event in spans_of(trace, thread)]


def stack_of(frame: FrameType | None) -> list[str]:
    """As Python itself tells it, outermost first."""
    names = []
    while frame is not None:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    return names[::-1]


def sampler_threads() -> int:
    found = 0
    for tid in os.listdir("/proc/self/task"):
        with suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/self/task/{tid}/comm") as comm:
            found += comm.read().strip() == "kg-sampler"
    return found


def wait_for_samplers(count: int) -> None:
    """The kernel shows a thread a moment longer than it lasts."""
    deadline = time.monotonic() + 60
    while sampler_threads() != count:
        assert time.monotonic() < deadline, f"{sampler_threads()} samplers, not {count}"
        time.sleep(0.001)

"""Threads that wait in C while calls are traced: no hook ever sees them, and yet they are there."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.sampled import functions, spans_of, stack_of

import kinetograph as kg
from kinetograph.session.recording import Session


def tracing(all_threads: bool = True, **options: object) -> Session:
    config = kg.ProfilerConfig(calls=kg.CallOptions(**options))  # type: ignore[arg-type]
    return Session.start(config, {kg.ActivityType.CPU}, (), all_threads)


@contextmanager
def blocked_in_lock() -> Iterator[Callable[[], None]]:
    lock = threading.Lock()
    lock.acquire()

    def waits_for_lock() -> None:
        lock.acquire()

    yield waits_for_lock
    lock.release()


@contextmanager
def blocked_in_accept() -> Iterator[Callable[[], None]]:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def waits_for_connection() -> None:
            server.accept()[0].close()

        yield waits_for_connection
        socket.create_connection(server.getsockname()).close()


@contextmanager
def blocked_in_read() -> Iterator[Callable[[], None]]:
    pipe, other_end = os.pipe()

    def reads() -> None:
        os.read(pipe, 1)
        os.close(pipe)

    yield reads
    os.close(other_end)


class Look(NamedTuple):
    """What a thread does."""

    stack: list[str]
    state: str
    switches: list[str]
    """How often it has waited, and was made to: it does once more when it waits for something else."""

    @classmethod
    def at(cls, thread: threading.Thread) -> Look:
        stack = stack_of(sys._current_frames().get(thread.ident or 0))
        lines = Path(f"/proc/self/task/{thread.native_id}/status").read_text().splitlines()
        status = dict(line.split(":\t") for line in lines)
        switches = [value for key, value in status.items() if key.endswith("_ctxt_switches")]
        return cls(stack, status["State"][0], switches)


def wait_until_it_stands_in(thread: threading.Thread, function: str) -> list[str]:
    """The thread's stack, once it waits within the function.

    Not for the GIL: that was free between two looks, and who waits for it wakes up.
    """
    before, deadline = None, time.monotonic() + 60
    while True:
        look = Look.at(thread)
        if look == before and look.state == "S" and function in look.stack:
            return look.stack
        assert time.monotonic() < deadline, look
        before = look
        time.sleep(0.001)


@contextmanager
def waiting_thread(target: Callable[[], None]) -> Iterator[threading.Thread]:
    thread = threading.Thread(target=target, name="the one that waits")
    thread.start()
    yield thread


@pytest.mark.parametrize("blocked", [blocked_in_lock, blocked_in_accept, blocked_in_read])
def test_a_thread_that_waits_all_the_time_shows_its_stack(
    blocked: Callable[[], Iterator[Callable[[], None]]],
) -> None:
    with blocked() as waits, waiting_thread(waits) as thread:  # type: ignore[attr-defined]
        stack = wait_until_it_stands_in(thread, waits.__name__)
        trace = tracing().stop()
    thread.join()
    spans = spans_of(trace, thread.native_id)
    assert functions(trace, thread.native_id) == stack
    assert {(event.start_ns, event.end_ns) for event in spans} == {(trace.start_ns, trace.end_ns)}
    assert not [event for event in spans if event.finished]
    assert "the one that waits" in spans[0].track.name


def test_a_thread_that_went_on_is_shown_by_what_it_recorded_itself() -> None:
    with blocked_in_lock() as waits, waiting_thread(waits) as thread:
        stack = wait_until_it_stands_in(thread, waits.__name__)
        session = tracing()
    thread.join()
    trace = session.stop()
    spans = spans_of(trace, thread.native_id)
    names = functions(trace, thread.native_id)
    assert [names.count(name) for name in set(stack)] == [stack.count(name) for name in set(stack)]
    assert [event.finished for event in spans if "waits_for_lock" in event.name] == [True]


def test_what_is_excluded_is_not_shown_of_a_thread_that_waits() -> None:
    with blocked_in_lock() as waits, waiting_thread(waits) as thread:
        wait_until_it_stands_in(thread, waits.__name__)
        trace = tracing(exclude=["threading"]).stop()
    thread.join()
    assert functions(trace, thread.native_id) == ["waits_for_lock"]


def test_a_ring_that_has_let_go_of_its_begin_still_shows_who_waits() -> None:
    with blocked_in_lock() as waits, waiting_thread(waits) as thread:
        stack = wait_until_it_stands_in(thread, waits.__name__)
        ring = kg.RecordOptions(mode="ring", ring_bytes=1 << 18)
        session = Session.start(kg.ProfilerConfig(calls=kg.CallOptions(), recording=ring), None, (), True)
        for _ in range(30_000):
            stack_of(None)
        trace = session.stop()
    thread.join()
    assert functions(trace, thread.native_id) == stack


def test_a_session_of_chosen_threads_shows_none_that_wait_elsewhere() -> None:
    with blocked_in_lock() as waits, waiting_thread(waits) as thread:
        wait_until_it_stands_in(thread, waits.__name__)
        trace = tracing(all_threads=False).stop()
    thread.join()
    assert functions(trace, thread.native_id) == []


def test_a_session_without_calls_shows_none_that_wait() -> None:
    with blocked_in_lock() as waits, waiting_thread(waits) as thread:
        wait_until_it_stands_in(thread, waits.__name__)
        without = Session.start(kg.ProfilerConfig(), {kg.ActivityType.CPU}, (), True)
        tracing().stop()
        trace = without.stop()
    thread.join()
    assert len(trace) == 0

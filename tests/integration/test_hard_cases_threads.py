"""Threads that come and go, end inside a scope, or share one."""

from __future__ import annotations

import _thread
import threading
from collections import Counter

import numpy as np
import pytest
from hard_cases import ONE_ARENA, run_program, wait_until

import kinetograph as kg
from kinetograph import _native
from recorded import by_name, names, notes, recording, start


def in_thread(function, *args, name: str | None = None) -> None:
    thread = threading.Thread(target=function, args=args, name=name)
    thread.start()
    thread.join()


def run_short_threads(threads: int, rounds: int) -> list[dict[str, int]]:
    """Rounds of that many short threads, of which nothing is lost and none remains."""
    done: list[dict[str, int]] = run_program("short_threads", threads, rounds, **ONE_ARENA)
    for each in done:
        assert each["events"] == 4 * threads
        assert each["tracks"] == threads
        assert each["each_thread_once"]
        assert each["nested"] == 3 * threads
        assert each["losses"] == 0
        assert each["threads"] == 1
        assert each["memory"] <= 1 << 20
        assert each["strings"] == done[0]["strings"]
    return done


@pytest.mark.slow
def test_ten_thousand_short_threads_lose_nothing_and_leak_nothing() -> None:
    rounds = run_short_threads(10_000, 3)
    assert rounds[2]["resident"] - rounds[1]["resident"] < 4 << 20


def test_a_thousand_short_threads_lose_nothing() -> None:
    """The same for sanitizers, under which memory goes up and down for reasons of theirs."""
    run_short_threads(1_000, 2)


def test_every_thread_is_a_track_named_as_the_thread_is() -> None:
    with recording() as window:
        for name in ("loader", "trainer"):
            in_thread(kg.mark, name, name=name)
    for event in window.trace.events:
        assert event.track.name == f"thread {event.thread_id} ({event.name})"
    assert len(window.trace.tracks) == 2


def test_only_the_thread_that_enabled_the_profiler_is_recorded_by_default() -> None:
    kg.enable_profiler()
    in_thread(kg.mark, "elsewhere")
    kg.mark("here")
    assert names(kg.disable_profiler().trace) == ["here"]


def test_threads_that_ran_before_the_session_are_recorded_too() -> None:
    begin, done = threading.Event(), threading.Event()

    def work() -> None:
        with kg.scope("before"):
            pass
        begin.wait()
        with kg.scope("during"):
            pass
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    with recording() as window:
        begin.set()
        done.wait()
    thread.join()
    assert names(window.trace) == ["during"]


def test_threads_that_threading_did_not_start_are_recorded() -> None:
    done = threading.Event()

    def work() -> None:
        with kg.scope("low level"):
            pass
        done.set()

    with recording() as window:
        _thread.start_new_thread(work, ())
        done.wait()
    event = by_name(window.trace)["low level"]
    assert event.track.name == f"thread {event.thread_id}"


def test_a_thread_that_ends_inside_a_scope_leaves_it_unfinished() -> None:
    with recording() as window:
        in_thread(kg.scope("never left").__enter__)
        kg.mark("later")
    events = by_name(window.trace)
    assert not events["never left"].finished
    assert events["later"].finished


def test_a_scope_left_in_another_thread_is_unfinished_in_its_own_and_counted() -> None:
    scope = kg.scope("handed over")
    with recording() as window:
        scope.__enter__()
        in_thread(scope.__exit__, None, None, None)
        kg.mark("still fine")
    events = by_name(window.trace)
    assert not events["handed over"].finished
    assert notes(window.trace, "unbalanced") == [
        "1 scopes ended without having begun in this session and thread"
    ]


def test_one_scope_object_serves_many_threads_at_once() -> None:
    scope, barrier = kg.scope("shared"), threading.Barrier(8)

    def work() -> None:
        barrier.wait()
        for _ in range(1000):
            with scope:
                pass

    with recording() as window:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    per_track = Counter(window.trace.columns["track"].tolist())
    assert list(per_track.values()) == [1000] * 8
    assert all(event.finished for event in window.trace.events)


def test_times_of_a_thread_never_go_back() -> None:
    with recording() as window:
        for _ in range(20_000):
            with kg.scope("tick"):
                pass
    start_ns, duration_ns = (window.trace.columns[name] for name in ("start_ns", "duration_ns"))
    assert (duration_ns >= 0).all()
    assert (start_ns[1:] >= start_ns[:-1] + duration_ns[:-1]).all()


def test_sessions_come_and_go_while_threads_record() -> None:
    told = run_program("busy_threads", 3, 500)
    assert told["events"] > 500
    assert told["wrong"] == []


def test_threads_that_are_gone_are_forgotten_after_the_session() -> None:
    before = _native.thread_count()
    session = start()
    for _ in range(20):
        in_thread(kg.mark, "short")
    trace = session.stop()
    assert len(trace) == 20
    wait_until(lambda: _native.thread_count() <= before + 1, "threads are forgotten")


def test_columns_of_many_threads_are_ordered_by_track_and_start() -> None:
    with recording() as window:
        for _ in range(5):
            in_thread(lambda: [kg.mark(str(i)) for i in range(100)])
    track, start_ns = window.trace.columns["track"], window.trace.columns["start_ns"]
    assert (np.diff(track) >= 0).all()
    assert (np.diff(start_ns)[np.diff(track) == 0] >= 0).all()

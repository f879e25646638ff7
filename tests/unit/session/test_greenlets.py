"""Calls of several greenlets, which take turns in one thread."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

import kinetograph as kg

greenlet = pytest.importorskip("greenlet")


def short(event: kg.Event) -> str:
    return event.name.rpartition("): ")[2]


def leaf() -> None: ...


def ping(other: list[Any], rounds: int) -> None:
    for _ in range(rounds):
        leaf()
        deeper(other)
    other[0].switch()


def deeper(other: list[Any]) -> None:
    other[0].switch()


def pong(first: Any, rounds: int) -> None:
    for _ in range(rounds):
        leaf()
        first.switch()


def take_turns(rounds: int = 5) -> None:
    first = greenlet.greenlet(ping)
    first.switch([greenlet.greenlet(lambda: pong(first, rounds), parent=first)], rounds)


def recorded(work: Any, **options: Any) -> kg.Trace:
    with kg.profile(with_stack=True, calls=kg.CallOptions(**options)) as p:
        work()
    return p.trace


def all_nest(trace: kg.Trace) -> bool:
    ends: dict[int, list[int]] = {}
    for event in trace.events:
        open_ends = ends.setdefault(int(trace.columns["track"][event.row]), [])
        while open_ends and open_ends[-1] <= event.start_ns:
            open_ends.pop()
        if open_ends and event.end_ns > open_ends[-1]:
            return False
        open_ends.append(event.end_ns)
    return True


@pytest.mark.parametrize("c_calls", [False, True], ids=["python", "c"])
def test_calls_of_greenlets_nest_and_are_counted_once(c_calls: bool) -> None:
    trace = recorded(take_turns, c_calls=c_calls)
    begun = [short(event) for event in trace.events if event.is_python_function and not event.is_resumed]
    assert all_nest(trace)
    assert begun.count("leaf") == 10
    assert begun.count("ping") == begun.count("pong") == 1
    assert begun.count("deeper") == 5
    assert not [note.text for note in trace.notes if note.kind in ("unbalanced", "missing")]


def test_a_greenlet_is_not_charged_for_the_turns_of_others() -> None:
    trace = recorded(take_turns)
    pongs = [event for event in trace.events if short(event) == "pong"]
    assert len(pongs) == 6
    assert {short(child) for event in pongs for child in event.children if "leaf" in child.name} == {"leaf"}
    for event in trace.events:
        if short(event) == "leaf":
            assert event.parent is not None
            assert short(event.parent) in ("ping", "pong")


def test_greenlets_of_another_thread_are_followed() -> None:
    def work() -> None:
        thread = threading.Thread(target=take_turns)
        thread.start()
        thread.join()

    trace = recorded(work)
    assert all_nest(trace)
    assert sum(short(event) == "leaf" for event in trace.events) == 10


def test_a_tracer_of_greenlets_that_was_there_stays_and_is_told() -> None:
    seen: list[str] = []

    def tracer(event: str, _args: object) -> None:
        seen.append(event)

    greenlet.settrace(tracer)
    try:
        recorded(take_turns)
        assert greenlet.gettrace() is tracer
    finally:
        greenlet.settrace(None)
    assert "switch" in seen


def test_nothing_is_left_in_greenlets_after_the_last_session() -> None:
    recorded(take_turns)
    assert greenlet.gettrace() is None
    assert sys.getprofile() is None


def test_what_ran_before_the_first_switch_is_kept() -> None:
    def switches_once() -> None:
        leaf()
        greenlet.greenlet(leaf).switch()
        leaf()

    parts = [event for event in recorded(switches_once).events if short(event) == "switches_once"]
    assert [part.is_resumed for part in parts] == [False, True]

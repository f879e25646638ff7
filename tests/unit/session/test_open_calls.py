"""Calls that were open when recording began."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import kinetograph as kg
from traced_calls import calls_in, recorded, runs_of

EVALUATES_FRAMES = (3, 11, 4) <= sys.version_info < (3, 12)


def leaf() -> None:
    pass


def test_a_call_that_was_open_ends_when_it_returns() -> None:
    def opener() -> None:
        kg.enable_profiler(kg.ProfilerConfig(with_stack=True), all_threads=True)

    opener()
    with kg.scope("after"):  # no Python call, by which anybody could notice
        pass
    leaf()
    trace = kg.disable_profiler().trace
    (event,) = runs_of(trace, "opener")
    (after,) = runs_of(trace, "after")
    assert event.finished
    assert event.end_ns <= after.start_ns
    assert not [note.text for note in trace.notes if note.kind == "late_ends"]


@pytest.mark.skipif(not EVALUATES_FRAMES, reason="this Python tells of every end")
def test_an_end_that_nobody_told_is_noticed_with_the_next_call_and_noted() -> None:
    kept: list[Any] = []

    def opener() -> None:
        kg.enable_profiler(kg.ProfilerConfig(with_stack=True), all_threads=True)
        kept.append(sys._getframe())

    opener()
    leaf()
    trace = kg.disable_profiler().trace
    (event,) = runs_of(trace, "opener")
    (after,) = runs_of(trace, "leaf")
    assert event.finished
    assert event.end_ns <= after.start_ns
    assert [note.text[:7] for note in trace.notes if note.kind == "late_ends"] == ["1 calls"]


@pytest.mark.skipif(not EVALUATES_FRAMES, reason="nothing is put into frames")
def test_nothing_is_left_in_frames_after_the_last_session() -> None:
    recorded(leaf)
    assert sys._getframe().f_trace is None


def test_a_debugger_that_comes_meanwhile_is_not_disturbed() -> None:
    seen: list[str] = []

    def tracer(frame: Any, event: str, arg: object) -> Any:
        if frame.f_code is leaf.__code__:
            seen.append(event)
        return tracer

    def work() -> None:
        sys.settrace(tracer)
        leaf()
        sys.settrace(None)

    before = sys.gettrace()
    try:
        trace = recorded(work)
    finally:
        sys.settrace(before)
    assert seen[:1] == ["call"]
    assert calls_in(trace, __file__)["leaf"] == 1

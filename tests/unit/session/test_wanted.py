"""Overlapping sessions record what any of them wants; each gets only what it asked for itself."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import kinetograph as kg
from kinetograph.session import availability, categories
from kinetograph.session.recording import Session
from recorded import names, notes

ARRAY = np.zeros((2, 3), dtype="float32")
SHAPES = {"Input Dims": [[2, 3]], "Input Strides": [[3, 1]], "Input type": ["float"]}


def record_in_two(**details: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of one scope, as a session with shapes and one without have them."""
    with_shapes = Session.start(kg.ProfilerConfig(report_input_shapes=True))
    without = Session.start(kg.ProfilerConfig())
    with kg.scope("op", **details):
        pass
    return without.stop().events[0].args, with_shapes.stop().events[0].args


def test_shapes_are_only_in_the_session_that_asked_for_them() -> None:
    assert record_in_two(inputs=[ARRAY]) == ({}, SHAPES)


def test_other_arguments_are_in_both_sessions() -> None:
    without, with_shapes = record_in_two(inputs=[ARRAY], args="text", step=3)
    assert without == {"args": "text", "step": 3}
    assert with_shapes == SHAPES | without


@pytest.mark.parametrize("inputs", [None, [ARRAY]])
def test_shapes_that_the_program_gives_itself_are_in_both_sessions(inputs: list[object] | None) -> None:
    given = {"Input Dims": [[7]]}
    assert record_in_two(inputs=inputs, **given) == (given, given)


def test_events_with_shapes_have_no_flag_of_it() -> None:
    session = Session.start(kg.ProfilerConfig(report_input_shapes=True))
    with kg.scope("op", inputs=[ARRAY]):
        pass
    assert session.stop().columns["flags"].tolist() == [0]


def record_of_every_kind() -> None:
    now = time.time_ns()
    kg.report_event("shader", now, now + 5, kg.DeviceType.VULKAN)
    kg.report_memory_usage(0x1000, 8, 8, 8)
    kg.mark("mark")
    kg.counter("queue", 3)
    with kg.scope("scope"), kg.scope("operator", kind=kg.RecordScope.FUNCTION):
        pass


EVERYTHING = {"shader", "[memory]", "mark", "queue", "scope", "operator"}


@pytest.mark.parametrize("activities", [None, {kg.ActivityType.CPU}])
def test_with_the_cpu_all_that_was_recorded_is_there(activities: set[kg.ActivityType] | None) -> None:
    session = Session.start(kg.ProfilerConfig(), activities)
    record_of_every_kind()
    assert set(names(session.stop())) == EVERYTHING


def test_without_the_cpu_there_is_nothing_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability, "_MISSING_ACTIVITIES", {})
    overlapping = Session.start(kg.ProfilerConfig())
    session = Session.start(kg.ProfilerConfig(), {kg.ActivityType.PRIVATEUSE1})
    with kg.scope("still open"):
        record_of_every_kind()
        assert names(session.stop()) == ["shader"]
    assert set(names(overlapping.stop())) == {*EVERYTHING, "still open"}


def test_no_activities_record_nothing_and_the_trace_says_so() -> None:
    kg.enable_profiler(activities=[])
    record_of_every_kind()
    trace = kg.disable_profiler().trace
    assert len(trace) == len(trace.tracks) == 0
    assert notes(trace, "activities") == ["no activity was chosen, so nothing is recorded"]


def test_numbers_of_categories_are_those_of_the_recorder() -> None:
    known = Session.start(kg.ProfilerConfig()).stop().categories
    numbers = {
        name: getattr(categories, name) for name in categories.__all__ if name.isupper() and name != "ALL"
    }
    assert {name: known[number] for name, number in numbers.items()} == {
        name: name.lower() for name in numbers
    }

"""What PyPI's `ittapi` annotates lands in the trace: every way it has, exactly."""

from __future__ import annotations

import pytest
from tests.integration.hard_cases import run_program
from tests.libraries import needs

import kinetograph as kg

pytestmark = needs("ittapi")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> kg.Trace:
    path = tmp_path_factory.mktemp("itt") / "trace.json"
    run_program("annotated_by_itt", path)
    return kg.load(path)


def names(trace: kg.Trace, domain: str) -> list[str]:
    return [event.name for event in trace.events if event.category == domain]


def only(trace: kg.Trace, name: str) -> kg.Event:
    (event,) = (event for event in trace.events if event.name == name)
    return event


def test_tasks_nest_in_their_domain(trace: kg.Trace) -> None:
    assert names(trace, "tasks") == ["outer", "inner", "in a thread"]
    inner = only(trace, "inner")
    assert inner.parent is not None
    assert inner.parent.name == "outer"


def test_decorated_functions_and_low_level_calls(trace: kg.Trace) -> None:
    assert names(trace, "decorators") == ["decorated"]
    assert names(trace, "low level") == ["by hand"]


def test_overlapped_tasks_cross_and_end_in_another_thread(trace: kg.Trace) -> None:
    first, second = only(trace, "first"), only(trace, "second")
    assert first.start_ns <= second.start_ns <= first.end_ns <= second.end_ns
    assert first.thread_id == second.thread_id
    assert second.finished


def test_events_have_no_domain_and_one_without_an_end_is_a_point(trace: kg.Trace) -> None:
    assert only(trace, "event").category == "user_annotation"
    points = [event for event in trace.events if event.name == "point"]
    assert [event.kind for event in points] == [kg.EventKind.INSTANT, kg.EventKind.SPAN]


def test_what_the_program_pauses_is_left_out(trace: kg.Trace) -> None:
    assert "not wanted" not in {event.name for event in trace.events}


def test_a_thread_is_called_what_it_calls_itself(trace: kg.Trace) -> None:
    assert "named by ITT" in only(trace, "in a thread").track.name

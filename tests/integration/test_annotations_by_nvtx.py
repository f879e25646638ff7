"""What PyPI's `nvtx` annotates lands in the trace: every way it has, exactly."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.integration.hard_cases import run_program
from tests.libraries import needs

import kinetograph as kg

pytestmark = needs("nvtx")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> kg.Trace:
    path = tmp_path_factory.mktemp("nvtx") / "trace.json"
    run_program("annotated_by_nvtx", path)
    return kg.load(path)


def of_domain(trace: kg.Trace, domain: str) -> list[kg.Event]:
    return [event for event in trace.events if event.category == domain]


def only(trace: kg.Trace, domain: str, name: str) -> kg.Event:
    (event,) = (event for event in of_domain(trace, domain) if event.name == name)
    return event


def args(event: kg.Event) -> dict[str, Any]:
    return {key: event.args[key] for key in ("category", "color", "payload") if key in event.args}


def test_pushed_ranges_nest_and_tell_category_colour_and_payload(trace: kg.Trace) -> None:
    pushed, inner = only(trace, "functions", "pushed"), only(trace, "functions", "inner")
    assert args(pushed) == {"category": "first", "color": "#ff0000", "payload": 7}
    assert inner.parent is not None
    assert inner.parent.name == "pushed"


def test_started_ranges_end_by_their_number(trace: kg.Trace) -> None:
    started, marked = only(trace, "functions", "started"), only(trace, "functions", "marked")
    assert args(started)["payload"] == 2.5
    assert started.start_ns <= marked.start_ns <= started.end_ns


def test_marks_are_instants(trace: kg.Trace) -> None:
    marked = only(trace, "functions", "marked")
    assert marked.kind is kg.EventKind.INSTANT
    assert args(marked) == {"category": "second", "color": "#00ff00", "payload": -1}


def test_what_has_no_domain_is_a_user_annotation(trace: kg.Trace) -> None:
    assert only(trace, "user_annotation", "plain").kind is kg.EventKind.SPAN


def test_decorated_functions_and_domain_objects(trace: kg.Trace) -> None:
    assert only(trace, "decorators", "decorated")
    attributes = only(trace, "domains", "with attributes")
    assert args(attributes) == {"category": "third", "color": "#0000ff"}
    assert only(trace, "domains", "within").kind is kg.EventKind.INSTANT
    assert only(trace, "domains", "numbered").kind is kg.EventKind.SPAN


def test_arrays_are_decoded_by_their_schema(trace: kg.Trace) -> None:
    assert only(trace, "arrays", "structure").args["payload"] == {
        "x": 3,
        "weights": [0.5, -1.0],
        "name": "point",
    }
    assert list(only(trace, "arrays", "array").args["payload"].values())[-1] == [0, 1, 2, 3]
    assert list(only(trace, "arrays", "list").args["payload"].values())[-1] == [1.5, 2.5]


def test_counters_give_a_value_at_a_time(trace: kg.Trace) -> None:
    values = [(event.name, event.args["value"]) for event in of_domain(trace, "counters")]
    assert [value for value in values if not value[0].startswith("group")] == [
        ("whole", 3),
        ("whole", -4),
        ("real", 0.25),
        ("small", -5),
        ("short", 65535),
        ("batch", 10),
        ("batch", 20),
    ]
    assert {("group.a", 1), ("group.b", 0.5)} < set(values)
    assert {event.kind for event in of_domain(trace, "counters")} == {kg.EventKind.COUNTER}


def test_ranges_of_two_domains_may_cross(trace: kg.Trace) -> None:
    a, b = only(trace, "A", "a"), only(trace, "B", "b")
    assert a.start_ns <= b.start_ns <= a.end_ns <= b.end_ns


def test_a_range_lies_on_the_thread_that_began_it_wherever_it_ends(trace: kg.Trace) -> None:
    moved = only(trace, "threads", "from thread to thread")
    assert moved.thread_id == only(trace, "functions", "pushed").thread_id
    assert moved.finished


def test_open_ranges_are_there_and_unfinished(trace: kg.Trace) -> None:
    for domain, name in (("threads", "never ended"), ("outer", "open")):
        assert not only(trace, domain, name).finished


def test_a_range_from_before_the_session_is_neither_there_nor_an_error(trace: kg.Trace) -> None:
    assert [event.name for event in of_domain(trace, "outer")] == ["open"]
    assert not [note for note in trace.notes if note.kind not in ("clock", "cost")]


def test_all_threads_are_told_apart_and_nothing_is_lost(trace: kg.Trace) -> None:
    many = of_domain(trace, "many")
    assert Counter(event.name for event in many) == {f"of thread {number}": 200 for number in range(4)}
    tids = {event.name: event.thread_id for event in many}
    assert len(set(tids.values())) == 4
    assert all(event.thread_id == tids[event.name] for event in many)
    assert sorted(event.args["payload"] for event in many) == sorted(list(range(200)) * 4)


def test_the_same_comes_by_way_of_perfetto(trace: kg.Trace, tmp_path: Path) -> None:
    trace.save(tmp_path / "trace.pftrace")
    again = kg.load(tmp_path / "trace.pftrace")
    assert args(only(again, "functions", "pushed")) == args(only(trace, "functions", "pushed"))
    assert only(again, "A", "a").duration_ns == only(trace, "A", "a").duration_ns

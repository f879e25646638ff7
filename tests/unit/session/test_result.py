"""`ProfilerResult`: the finished recording under Kineto's names."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import kinetograph as kg
from kinetograph.analysis.tree import EventNode


@pytest.fixture
def result() -> kg.ProfilerResult:
    """load(read, decode) and then a mark."""
    kg.enable_profiler()
    with kg.scope("load"):
        with kg.scope("read"):
            pass
        with kg.scope("decode"):
            pass
    kg.mark("done")
    return kg.disable_profiler()


def test_it_holds_the_trace_and_its_events(result: kg.ProfilerResult) -> None:
    assert isinstance(result.trace, kg.Trace)
    assert [event.name for event in result.events] == ["load", "read", "decode", "done"]
    assert result.events[0] == result.trace.events[0]
    assert len(result.events[1:3]) == 2


def test_trace_start_is_wall_time_before_the_first_event(result: kg.ProfilerResult) -> None:
    assert result.trace_start_ns <= result.events[0].start_ns
    assert abs(time.time_ns() - result.trace_start_ns) < 60e9


def test_the_tree_has_parents_and_children(result: kg.ProfilerResult) -> None:
    load, done = result.event_tree
    assert isinstance(load, EventNode)
    assert (load.event.name, load.parent) == ("load", None)
    assert [node.event.name for node in load.children] == ["read", "decode"]
    assert all(node.parent is load for node in load.children)
    assert (done.event.name, done.children) == ("done", [])


def test_the_tree_of_nothing_is_empty() -> None:
    kg.enable_profiler()
    result = kg.disable_profiler()
    assert result.event_tree == []
    assert list(result.events) == []
    assert result.trace_start_ns > 0


def test_it_is_saved_as_often_as_you_like(result: kg.ProfilerResult, tmp_path: Path) -> None:
    for name in ("a.json", "a.json", "b.json.gz"):
        result.save(tmp_path / name)
        assert [event.name for event in kg.load(tmp_path / name).events] == ["load", "read", "decode", "done"]


def test_a_suffix_that_is_not_known_is_an_error(result: kg.ProfilerResult, tmp_path: Path) -> None:
    with pytest.raises(kg.KinetographError, match=r"ends in \.json, \.json\.gz, \.pftrace"):
        result.save(tmp_path / "trace.txt")
    assert list(tmp_path.iterdir()) == []


def test_results_live_on_after_later_sessions(result: kg.ProfilerResult) -> None:
    for _ in range(50):
        kg.enable_profiler()
        for number in range(1000):
            kg.mark(f"later {number}")
        kg.disable_profiler()
    assert [event.name for event in result.events] == ["load", "read", "decode", "done"]


def test_events_keep_their_trace_alive() -> None:
    kg.enable_profiler()
    kg.mark("kept")
    event = kg.disable_profiler().events[0]
    assert event.name == "kept"


def test_it_shows_what_it_is(result: kg.ProfilerResult) -> None:
    assert repr(result) == "<ProfilerResult of <Trace of 4 events on 1 track>>"

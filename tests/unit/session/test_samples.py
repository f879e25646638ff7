"""Sampled stacks: are they those that Python itself would tell of?"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import pytest
from tests import recorded
from tests.sampled import (
    Waiting,
    functions,
    rounds,
    sampling,
    spans_of,
    spin_for_rounds,
    stack_of,
    start,
    wait_for_rounds,
    wait_for_samplers,
)

import kinetograph as kg
from kinetograph import _native
from kinetograph.session.recording import Session

Wait = Callable[[], object]


def outer(wait: Wait) -> None:
    inner(wait)


def inner(wait: Wait) -> None:
    wait()


def deep(wait: Wait, depth: int = 300) -> None:
    if depth:
        deep(wait, depth - 1)
    else:
        wait()


def through_c(wait: Wait) -> None:
    sorted([2, 1], key=lambda _: wait() or 0)


def through_generators(wait: Wait) -> None:
    def numbers() -> Any:
        yield 1
        wait()
        yield 2

    def doubled() -> Any:
        yield from (2 * number for number in numbers())

    assert sum(doubled()) == 6


class Waiter:
    def __init__(self, wait: Wait) -> None:
        self.wait = wait
        assert self.value is None

    @property
    def value(self) -> None:
        self + 1

    def __add__(self, other: int) -> None:
        self.wait()


def test_stacks_are_those_that_python_tells() -> None:
    with Waiting(outer, deep, through_c, through_generators, Waiter) as waiting:
        with sampling() as window:
            wait_for_rounds()
        frames = sys._current_frames()
        for thread in waiting.threads:
            assert thread.ident is not None
            assert functions(window.trace, thread.native_id) == stack_of(frames[thread.ident])


def test_spans_of_what_waits_are_unfinished_and_lie_on_the_thread_by_name() -> None:
    with Waiting(outer) as waiting:
        waiting.threads[0].name = "the waiting one"
        with sampling() as window:
            wait_for_rounds()
    events = spans_of(window.trace, waiting.threads[0].native_id)
    assert not [event for event in events if event.finished]
    assert "the waiting one" in events[0].track.name


def test_a_thread_that_ends_in_a_pause_is_over_behind_it() -> None:
    session = start()
    with Waiting(outer) as waiting:
        wait_for_rounds()
        session.pause()
    wait_for_rounds()
    session.resume()
    wait_for_rounds()
    events = spans_of(session.stop(), waiting.threads[0].native_id)
    assert events
    assert all(event.finished for event in events)


def test_stacks_that_a_warm_up_has_seen_are_in_the_trace() -> None:
    calls = kg.CallOptions(mode="sample", sample_hz=1000)
    with Waiting(outer, deep, through_c) as waiting:
        with kg.profile(calls=calls, schedule=kg.schedule(wait=0, warmup=1, active=1)) as profile:
            wait_for_rounds()
            profile.step()
            wait_for_rounds()
        stacks = [functions(profile.trace, thread.native_id) for thread in waiting.threads]
    for name, stack in zip(("outer", "deep", "through_c"), stacks, strict=True):
        assert name in stack


def lost(trace: kg.Trace) -> int:
    return sum(int(text.split()[0].replace(",", "")) for text in recorded.notes(trace, "dropped"))


def test_the_end_of_a_thread_that_finds_no_room_is_lost_once() -> None:
    name, marks, threads = "more than there is room for", 400_000, 40
    session = start(recording=kg.RecordOptions(memory_limit_bytes=1 << 24, at_limit="drop"))
    with Waiting(*[outer] * threads):
        stacks = _native.sample_counts()[1]
        for _ in range(marks):
            kg.mark(name)
        wait_for_rounds(200)  # until there is no room in what the sampler holds, either
    wait_for_rounds(600)
    trace = session.stop()
    lost_marks = marks - recorded.names(trace).count(name)
    assert lost_marks > 0
    assert lost(trace) <= lost_marks + _native.sample_counts()[1] - stacks + threads


def spins_long() -> float:
    return spin_for_rounds(300)


def spins_briefly() -> float:
    return spin_for_rounds(100)


def test_durations_are_those_of_the_programs_own_clock() -> None:
    with sampling() as window:
        own = {"spins_long": spins_long(), "spins_briefly": spins_briefly()}
        wait_for_rounds()
    me = threading.get_native_id()
    for name, seconds in own.items():
        spans = [event for event in spans_of(window.trace, me) if event.name.endswith(f": {name}")]
        assert len(spans) == 1
        # The first and the last round may each come a period, or on a busy machine more, too late.
        assert spans[0].duration_ns / 1e9 == pytest.approx(seconds, rel=0.2, abs=0.05)


def test_the_caller_of_each_function_is_around_it() -> None:
    with sampling() as window:
        spins_long()
    me = threading.get_native_id()
    by_name = {event.name.partition("): ")[2]: event for event in spans_of(window.trace, me)}
    around, within = by_name["spins_long"], by_name["spin_for_rounds"]
    assert around.start_ns <= within.start_ns
    assert around.end_ns >= within.end_ns


def test_our_own_functions_are_left_out() -> None:
    session = start()
    wait_for_rounds()
    trace = session.stop()
    assert len(trace) > 0
    assert not [name for name in recorded.names(trace) if name.startswith("kinetograph/")]


def test_scopes_of_a_sampled_thread_lie_on_the_same_track() -> None:
    with sampling() as window:
        with kg.scope("load"):
            wait_for_rounds()
        wait_for_rounds()
    me = threading.get_native_id()
    tracks = {event.track for event in window.trace.events if event.thread_id == me}
    assert len(tracks) == 1
    assert "load" in recorded.names(window.trace)


# ---- names


def function_named(name: str, file: str) -> Callable[[Wait], None]:
    code: CodeType = inner.__code__.replace(co_name=name, co_qualname=name, co_filename=file)
    return FunctionType(code, globals())


class Text(str):
    """Strings of a derived class keep their characters elsewhere."""


NAMES = {
    "ascii": "plain",
    "latin 1": "größe",
    "two bytes": "функция",
    "four bytes": "\U0001f3ac\U0001d523",
    "lone surrogate": "a\udc80b",
    "surrogate beside four bytes": "\U0001f3ac\ud800",
    "nul": "a\0b",
    "empty": "",
    "long": "x" * 40_000,
    "derived class": Text("größe"),
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
def test_names_are_spelled_as_when_calls_are_traced(name: str) -> None:
    function = function_named(name, f"/tmp/{name}.py")
    config = kg.ProfilerConfig(calls=kg.CallOptions(exclude=["threading", "tests"]))
    traced = Session.start(config, {kg.ActivityType.CPU}, (), True)
    function(int)
    expected = {event.name for event in traced.stop().events if "/tmp/" in event.name}
    with Waiting(function) as waiting, sampling() as window:
        wait_for_rounds()
    sampled = {event.name for event in spans_of(window.trace, waiting.threads[0].native_id)}
    assert len(expected) == 1
    assert expected <= sampled


def test_the_qualified_name_is_an_argument() -> None:
    with Waiting(Waiter) as waiting, sampling() as window:
        wait_for_rounds()
    spans = spans_of(window.trace, waiting.threads[0].native_id)
    assert [event.args["Qualified name"] for event in spans if event.name.endswith(": __add__")] == [
        "Waiter.__add__"
    ]


def test_code_that_takes_the_place_of_other_code_has_its_own_name() -> None:
    with sampling(sample_hz=5000) as window:
        wanted, made = rounds() + 300, 0
        # Rounds alone may all fall into one moment in which this thread had to wait.
        while rounds() < wanted or made < 3000:
            made += 1
            number = made % 1000
            namespace: dict[str, Any] = {}
            exec(compile(f"def f{number:03}(): sum(range(2000))", f"made {number:03}", "exec"), namespace)
            namespace[f"f{number:03}"]()
    generated = {event.name for event in window.trace.events if event.name.startswith("made ")}
    assert generated
    for name in generated:
        file, _, function = name.partition("(1): ")
        assert function == "<module>" or function == f"f{file[-3:]}", name


# ---- options


def test_what_is_excluded_is_left_out_of_stacks() -> None:
    with Waiting(outer) as waiting, sampling(exclude=["threading"]) as window:
        wait_for_rounds()
    assert functions(window.trace, waiting.threads[0].native_id) == ["outer", "inner", "_wait"]


def test_only_what_is_included_is_in_stacks() -> None:
    with Waiting(outer) as waiting, sampling(include=["*/test_samples.py"]) as window:
        wait_for_rounds()
    assert functions(window.trace, waiting.threads[0].native_id) == ["outer", "inner"]


def test_max_depth_keeps_the_outermost() -> None:
    with Waiting(deep) as waiting, sampling(max_depth=5, exclude=["threading"]) as window:
        wait_for_rounds()
    assert functions(window.trace, waiting.threads[0].native_id) == ["deep"] * 5


@pytest.mark.parametrize("hz", [0, -1, 10_001, 0.5, "100"])
def test_a_rate_out_of_bounds_is_refused(hz: Any) -> None:
    with pytest.raises(kg.KinetographError, match="sample_hz"):
        kg.CallOptions(mode="sample", sample_hz=hz)


@pytest.mark.parametrize("option", [{"c_calls": True}, {"call_lines": True}, {"min_duration_ns": 1}])
def test_options_of_tracing_have_no_meaning_for_samples(option: dict[str, Any]) -> None:
    with pytest.raises(kg.KinetographError, match="no meaning in mode 'sample'"):
        kg.CallOptions(mode="sample", **option)


def test_a_rate_has_no_meaning_for_tracing() -> None:
    with pytest.raises(kg.KinetographError, match="pass mode='sample'"):
        kg.CallOptions(sample_hz=10)


# ---- sessions


def test_a_session_that_did_not_ask_sees_no_samples() -> None:
    with recorded.recording() as without, sampling() as window:
        wait_for_rounds()
    assert len(window.trace) > 0
    assert len(without.trace) == 0
    assert not recorded.notes(without.trace, "torn") + recorded.notes(without.trace, "missed")


def test_traced_calls_and_samples_keep_to_their_sessions() -> None:
    with sampling(include=["*/sampled.py"]) as sampled:
        config = kg.ProfilerConfig(calls=kg.CallOptions(include=["*/test_samples.py"]))
        tracing = Session.start(config, {kg.ActivityType.CPU}, (), True)
        inner(wait_for_rounds)
        traced = tracing.stop()
    me = threading.get_native_id()
    assert "inner" in functions(traced, me)
    assert "wait_for_rounds" in functions(sampled.trace, me)
    assert "inner" not in functions(sampled.trace, me)
    assert "wait_for_rounds" not in functions(traced, me)


def test_a_second_session_raises_the_rate_and_the_first_goes_on() -> None:
    with Waiting(outer) as waiting:
        with sampling(sample_hz=100) as slow:
            wait_for_rounds()
            with sampling(sample_hz=2000) as fast:
                wait_for_rounds(20)
            wait_for_rounds()
        tid = waiting.threads[0].native_id
        assert functions(slow.trace, tid) == functions(fast.trace, tid)
        assert spans_of(slow.trace, tid)[0].duration_ns > spans_of(fast.trace, tid)[0].duration_ns


def test_each_session_sees_what_its_own_filter_wants() -> None:
    with Waiting(outer) as waiting, sampling(include=["*/test_samples.py"]) as ours:
        with sampling(include=["threading"]) as pythons:
            wait_for_rounds()
        wait_for_rounds()
    tid = waiting.threads[0].native_id
    assert functions(ours.trace, tid) == ["outer", "inner"]
    assert functions(pythons.trace, tid)[:3] == ["_bootstrap", "_bootstrap_inner", "run"]
    assert "outer" not in functions(pythons.trace, tid)


def test_a_session_of_chosen_threads_samples_those() -> None:
    with Waiting(outer) as waiting, sampling(all_threads=False) as window:
        wait_for_rounds()
    assert functions(window.trace, waiting.threads[0].native_id) == []
    assert "wait_for_rounds" in functions(window.trace, threading.get_native_id())


def test_the_sampler_goes_with_the_last_session() -> None:
    with sampling():
        with sampling():
            wait_for_samplers(1)
        wait_for_samplers(1)
    wait_for_samplers(0)


def test_the_note_tells_what_sampling_cost() -> None:
    with sampling() as window:
        wait_for_rounds()
    assert any("ms of CPU in a thread of its own" in text for text in recorded.notes(window.trace, "cost"))


# ---- threads that come and go


def test_threads_that_end_have_spans_that_end() -> None:
    with sampling() as window:
        with Waiting(outer) as waiting:
            wait_for_rounds()
        wait_for_rounds()
    spans = spans_of(window.trace, waiting.threads[0].native_id)
    assert functions(window.trace, waiting.threads[0].native_id)[-3:]
    assert not [event for event in spans if not event.finished]


def test_a_storm_of_threads_is_survived() -> None:
    with sampling(sample_hz=10_000) as window:
        wanted = rounds() + 200
        while rounds() < wanted:
            threads = [threading.Thread(target=time.sleep, args=(0.0005,)) for _ in range(20)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    names = {name.partition("): ")[2] for name in recorded.names(window.trace)}
    assert {"_bootstrap", "_bootstrap_inner", "run"} <= names

"""Steps and schedules of `kg.profile`, and what becomes of errors on the way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import kinetograph as kg
from kinetograph import _native
from kinetograph.session.recording import Session
from recorded import by_name, names, notes, tree
from stepped import EVERY_STEP, Traces, stepped

pytestmark = pytest.mark.filterwarnings("ignore:Profiler clears events")


# ---- steps


def test_each_cycle_makes_a_trace_with_its_steps_marked() -> None:
    traces = Traces()
    stepped(8, traces, schedule=kg.schedule(wait=1, warmup=1, active=2))
    assert traces.steps == [4, 8]
    assert traces.names == [
        ["ProfilerStep#2", "work 2", "ProfilerStep#3", "work 3"],
        ["ProfilerStep#6", "work 6", "ProfilerStep#7", "work 7"],
    ]


def test_what_happens_in_a_step_lies_below_its_mark() -> None:
    trees: list[Any] = []
    stepped(3, lambda prof: trees.append(tree(prof.trace)), schedule=kg.schedule(wait=0, warmup=1, active=2))
    assert trees == [[("ProfilerStep#1", [("work 1", [])]), ("ProfilerStep#2", [("work 2", [])])]]


def test_marks_of_steps_are_user_annotations() -> None:
    prof = stepped(2, schedule=kg.schedule(wait=0, warmup=1, active=1))
    assert by_name(prof.trace)["ProfilerStep#1"].category == "user_annotation"


def test_between_cycles_nothing_is_recorded() -> None:
    def running() -> bool:
        return bool(_native.sessions())

    seen: list[bool] = []
    with kg.profile(schedule=kg.schedule(wait=1, warmup=1, active=1, repeat=1)) as prof:
        for _ in range(5):
            seen.append(running())
            prof.step()
    assert seen == [False, True, True, False, False]


def test_the_trace_begins_with_its_first_recorded_step_and_not_with_the_warm_up() -> None:
    begins: list[bool] = []

    def check(prof: kg.profile) -> None:
        begins.append(by_name(prof.trace)["ProfilerStep#1"].start_ns - prof.trace.start_ns < 10_000_000)
        assert notes(prof.trace, "paused") == []

    with kg.profile(schedule=kg.schedule(**EVERY_STEP), on_trace_ready=check) as prof:
        threading.Event().wait(0.02)
        prof.step()
    assert begins == [True]


def test_a_scope_that_begins_in_the_warm_up_is_there_from_the_begin_of_the_trace() -> None:
    with kg.profile(schedule=kg.schedule(**EVERY_STEP)) as prof:
        with kg.scope("epoch"):
            prof.step()
        prof.step()
    epoch = by_name(prof.trace)["epoch"]
    assert epoch.finished
    assert epoch.start_ns == prof.trace.start_ns


def test_steps_may_be_made_in_an_asyncio_task() -> None:
    async def training(prof: kg.profile) -> None:
        for step in range(4):
            with kg.scope(f"work {step}"):
                await asyncio.sleep(0)
            prof.step()

    traces = Traces()
    unbalanced: list[str] = []

    def ready(prof: kg.profile) -> None:
        traces(prof)
        unbalanced.extend(notes(prof.trace, "unbalanced"))

    with kg.profile(schedule=kg.schedule(wait=0, warmup=1, active=2), on_trace_ready=ready) as prof:
        asyncio.run(training(prof))
    assert [sorted(trace) for trace in traces.names] == [
        ["ProfilerStep#1", "ProfilerStep#2", "work 1", "work 2"],
        ["ProfilerStep#4"],
    ]
    assert not unbalanced


def test_an_observer_sees_begin_and_end_of_every_step() -> None:
    seen: list[str] = []
    handle = kg.add_global_callback(
        lambda fn: seen.append(f"begin {fn.name}"), lambda fn, _: seen.append(f"end {fn.name}")
    )
    try:
        with kg.profile(schedule=lambda step: kg.ProfilerAction.NONE) as prof:
            prof.step()
    finally:
        kg.remove_callback(handle)
    marks = ["ProfilerStep#0", "ProfilerStep#1"]
    assert seen == [f"{what} {mark}" for mark in marks for what in ("begin", "end")]


def test_many_steps_leave_no_scopes_behind() -> None:
    prof = stepped(0, schedule=lambda step: kg.ProfilerAction.NONE)
    before = _native.string_count()
    with prof:
        for _ in range(10_000):
            prof.step()
    assert _native.string_count() == before


# ---- incorrect schedules, and those that end early


def by_plan(*plan: str) -> Callable[[int], str]:
    return lambda step: plan[min(step, len(plan) - 1)]


@pytest.mark.parametrize(
    ("plan", "complaint"),
    [
        (["WARMUP", "NONE"], "WARMUP followed by NONE"),
        (["RECORD", "NONE"], "RECORD followed by NONE"),
        (["RECORD", "WARMUP"], "RECORD followed by WARMUP"),
    ],
)
def test_a_schedule_that_loses_events_is_complained_of(plan: list[str], complaint: str) -> None:
    traces = Traces()
    with pytest.warns(UserWarning, match=f"Incorrect schedule: {complaint}") as caught:
        stepped(1, traces, schedule=by_plan(*plan))
    assert caught[0].filename == stepped.__code__.co_filename
    assert traces.steps == []


def test_recording_after_an_incorrect_schedule_works() -> None:
    traces = Traces()
    with pytest.warns(UserWarning, match="Incorrect schedule"):
        stepped(4, traces, schedule=by_plan("RECORD", "WARMUP", "RECORD_AND_SAVE", "NONE"))
    assert traces.names == [["ProfilerStep#2", "work 2"]]


def test_a_profile_that_ends_in_warm_up_calls_nobody_and_has_an_empty_trace() -> None:
    traces = Traces()
    prof = stepped(1, traces, schedule=kg.schedule(wait=0, warmup=5, active=1))
    assert traces.steps == []
    assert len(prof.events()) == 0
    assert notes(prof.trace, "schedule")


def test_ending_in_a_later_warm_up_keeps_the_trace_before() -> None:
    prof = stepped(2, schedule=kg.schedule(**EVERY_STEP))
    assert "work 1" in names(prof.trace)


def test_a_device_that_gives_up_costs_the_rest_of_the_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    has_stopped = False
    monkeypatch.setattr(kg.profile, "_device_has_stopped", lambda self: has_stopped)
    traces = Traces()
    actions: list[str] = []
    with kg.profile(schedule=kg.schedule(wait=0, warmup=1, active=3), on_trace_ready=traces) as prof:
        for step in range(6):
            actions.append(prof.current_action.name)
            has_stopped = step == 1
            if has_stopped:
                with pytest.warns(UserWarning, match="stopped early, at step 2"):
                    prof.step()
            else:
                prof.step()
    assert actions == ["WARMUP", "RECORD", "DEVICE_STOPPED", "DEVICE_STOPPED", "WARMUP", "RECORD"]
    assert traces.steps == [2, 6]


@pytest.mark.filterwarnings("error")
def test_a_cycle_ends_also_where_the_warning_that_its_device_gave_up_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    traces = Traces()
    with kg.profile(schedule=kg.schedule(wait=0, warmup=1, active=2), on_trace_ready=traces) as prof:
        prof.step()
        monkeypatch.setattr(kg.profile, "_device_has_stopped", lambda self: True)
        with pytest.raises(UserWarning, match="stopped early, at step 2"):
            prof.step()
        monkeypatch.undo()
        for _ in range(3):
            prof.step()
    assert traces.steps == [2, 5]


# ---- errors of the program


@contextmanager
def interrupted_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ctrl-C comes while the next stop of a session waits for devices."""

    def interrupt(self: Session) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "_look_around", interrupt)
    with pytest.raises(KeyboardInterrupt):
        yield


def started(traces: Traces, *, steps: int) -> kg.profile:
    prof = kg.profile(schedule=kg.schedule(wait=0, warmup=1, active=2), on_trace_ready=traces)
    prof.start()
    for _ in range(steps):
        prof.step()
    kg.mark("recorded")
    return prof


@pytest.mark.parametrize(("ends_by", "steps"), [("stop", 1), ("stop", 4), ("step", 2), ("step", 5)])
def test_a_cycle_whose_end_is_interrupted_is_there_at_the_next_stop(
    monkeypatch: pytest.MonkeyPatch, ends_by: str, steps: int
) -> None:
    traces = Traces()
    prof = started(traces, steps=steps)
    before = list(traces.steps)
    with interrupted_once(monkeypatch):
        getattr(prof, ends_by)()
    assert traces.steps == before
    prof.stop()
    assert traces.steps == [*before, prof.step_num]
    assert "recorded" in names(prof.trace)
    assert not notes(prof.trace, "schedule")


def test_a_stop_in_warm_up_that_is_interrupted_can_be_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    prof = started(Traces(), steps=0)
    with interrupted_once(monkeypatch):
        prof.stop()
    prof.stop()
    assert prof.profiler is not None
    assert not prof.profiler.is_running
    assert notes(prof.trace, "schedule")


def test_after_a_step_that_was_interrupted_the_next_one_ends_the_cycle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    traces = Traces()
    prof = started(traces, steps=2)
    with interrupted_once(monkeypatch):
        prof.step()
    prof.step()
    prof.stop()
    assert traces.steps[0] == 4
    assert "recorded" in traces.names[0]


def test_a_block_whose_end_is_interrupted_still_gives_its_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    traces = Traces()
    with interrupted_once(monkeypatch), kg.profile(on_trace_ready=traces):
        kg.mark("recorded")
    assert traces.names == [["recorded"]]


def test_a_block_that_cannot_be_stopped_leaves_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Session) -> None:
        raise MemoryError

    monkeypatch.setattr(Session, "_look_around", fails)
    before = len(_native.sessions())
    with pytest.raises(MemoryError), kg.profile():
        pass
    assert len(_native.sessions()) == before


def test_an_exception_in_the_block_passes_and_the_trace_is_ready() -> None:
    def fails() -> None:
        with kg.profile(on_trace_ready=traces):
            kg.mark("before")
            raise KeyError("program")

    traces = Traces()
    with pytest.raises(KeyError, match="program"):
        fails()
    assert traces.names == [["before"]]


def test_an_exception_in_on_trace_ready_reaches_the_program_once() -> None:
    calls: list[int] = []

    def ready(prof: kg.profile) -> None:
        calls.append(prof.step_num)
        raise ValueError("handler")

    with pytest.raises(ValueError, match="handler"):
        stepped(5, ready, schedule=kg.schedule(**EVERY_STEP))
    assert calls == [2]


def failing_once(traces: Traces) -> Callable[[kg.profile], None]:
    def ready(prof: kg.profile) -> None:
        traces(prof)
        if len(traces.steps) == 1:
            raise ValueError("once")

    return ready


def test_a_program_that_survives_its_handler_gets_the_next_cycle() -> None:
    traces = Traces()

    with kg.profile(schedule=kg.schedule(**EVERY_STEP), on_trace_ready=failing_once(traces)) as prof:
        prof.step()
        with pytest.raises(ValueError, match="once"):
            prof.step()
        prof.step()
        kg.mark("next")
        prof.step()
    assert traces.steps == [2, 4]
    assert "next" in traces.names[1]


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_a_handler_that_fails_costs_no_cycle_that_follows_at_once() -> None:
    traces = Traces()

    schedule = kg.schedule(wait=0, warmup=0, active=1)
    with kg.profile(schedule=schedule, on_trace_ready=failing_once(traces)) as prof:
        kg.mark("first")
        with pytest.raises(ValueError, match="once"):
            prof.step()
        kg.mark("second")
        prof.step()
    assert traces.names == [["ProfilerStep#0", "first"], ["ProfilerStep#1", "second"], ["ProfilerStep#2"]]


def test_an_exception_of_the_schedule_ends_the_profile() -> None:
    def schedule(step: int) -> kg.ProfilerAction:
        if step == 2:
            raise LookupError("schedule")
        return kg.ProfilerAction.RECORD

    traces = Traces()
    prof = kg.profile(schedule=schedule, on_trace_ready=traces)
    prof.start()
    prof.step()
    with pytest.raises(LookupError, match="schedule"):
        prof.step()
    assert not _native.sessions()
    assert traces.steps == [1]
    prof.stop()
    assert traces.steps == [1]


def test_a_handler_may_stop_the_profile() -> None:
    prof = stepped(9, lambda prof: prof.stop(), schedule=kg.schedule(**EVERY_STEP))
    assert prof.step_num == 2
    assert not _native.sessions()


def test_a_handler_may_wait_for_a_thread_that_steps() -> None:
    stop = threading.Event()

    def steps() -> None:
        while not stop.is_set():
            prof.step()

    def ready(prof: kg.profile) -> None:
        stop.set()
        worker.join(30)

    prof = kg.profile(on_trace_ready=ready)
    worker = threading.Thread(target=steps)
    with prof:
        worker.start()
    assert not worker.is_alive()

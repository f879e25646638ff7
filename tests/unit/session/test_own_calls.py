"""What our own functions call, of the standard library above all, is no call of the program's."""

from __future__ import annotations

import gc
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kinetograph as kg

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

Case = Callable[[dict[str, Any], Path], list[kg.Trace]]
CASES: list[Case] = []


def case(function: Case) -> Case:
    CASES.append(function)
    return function


@pytest.fixture(autouse=True)
def no_garbage() -> Iterator[None]:
    """Whose finalizers would be called in the window."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def calls_in(trace: kg.Trace) -> set[str]:
    """What this thread called within the window, by its short name."""
    mine = [event for event in trace.events if event.thread_id == threading.get_native_id()]
    return {
        event.name.rpartition("): ")[2]
        for event in mine
        if event.is_python_function and event.finished and event.start_ns > trace.start_ns
    }


@case
def an_empty_block(options: dict[str, Any], folder: Path) -> list[kg.Trace]:
    with kg.profile(**options) as p:
        pass
    return [p.trace]


@case
def the_low_level_pair(options: dict[str, Any], folder: Path) -> list[kg.Trace]:
    kg.enable_profiler(kg.ProfilerConfig(**options), all_threads=True)
    return [kg.disable_profiler().trace]


@case
def steps(options: dict[str, Any], folder: Path) -> list[kg.Trace]:
    with kg.profile(**options) as p:
        for _ in range(3):
            p.step()
    return [p.trace]


@case
def cycles_with_a_handler(options: dict[str, Any], folder: Path) -> list[kg.Trace]:
    write = kg.tensorboard_trace_handler(str(folder))
    schedule = kg.schedule(wait=1, warmup=1, active=2, repeat=2)
    with kg.profile(schedule=schedule, on_trace_ready=write, acc_events=True, **options) as p:
        for _ in range(9):
            p.step()
    return [p.trace]


@case
def sessions_inside(options: dict[str, Any], folder: Path) -> list[kg.Trace]:
    with kg.profile(**options) as outer:
        with kg.profile(**options) as inner:
            inner.step()
        with kg.profile(with_stack=True, calls=kg.CallOptions(mode="sample")):
            pass
    return [outer.trace, inner.trace]


@case
def reports_and_files(options: dict[str, Any], folder: Path) -> list[kg.Trace]:
    path = os.fspath(folder) + "/trace.json"
    with kg.profile(**options) as outer:
        with kg.profile(**options) as inner:
            pass
        inner.key_averages().table()
        inner.export_chrome_trace(path)
        kg.load(path)
    return [outer.trace]


@case
def metadata(options: dict[str, Any], folder: Path) -> list[kg.Trace]:
    with kg.profile(**options) as p:
        p.add_metadata("a", "b")
        p.add_metadata_json("c", '{"d": 1}')
        p.preset_metadata_json("e", "[1]")
    return [p.trace]


@case
def scopes_marks_and_counters(options: dict[str, Any], folder: Path) -> list[kg.Trace]:
    with kg.profile(record_shapes=True, **options) as p:
        kg.mark("m")
        kg.counter("c", 1.5)
        with kg.scope("s"), kg.scope("t", n=1, text="x", items=[1, 2], any={"a": object()}):
            pass
        with kg.record_function("r", "args"):
            pass
    return [p.trace]


@case
def mistakes(options: dict[str, Any], folder: Path) -> list[kg.Trace]:
    with kg.profile(**options) as p:
        wrong = {"max_depth": 0}
        try:
            kg.CallOptions(**wrong)  # type: ignore[arg-type]
        except kg.KinetographError:
            wrong.clear()
        try:
            kg.disable_profiler()
        except kg.KinetographError:
            wrong = {}
    return [p.trace]


@case
def questions(options: dict[str, Any], folder: Path) -> list[kg.Trace]:
    with kg.profile(**options) as p:
        kg.features()
        kg.supported_activities()
        kg.profile(**options)
    return [p.trace]


@pytest.mark.parametrize("c_calls", [False, True], ids=["python", "c"])
@pytest.mark.parametrize("work", CASES, ids=lambda work: work.__name__)
def test_none_of_our_calls_is_recorded(work: Case, c_calls: bool, tmp_path: Path) -> None:
    options = {"with_stack": True, "calls": kg.CallOptions(c_calls=c_calls)}
    for trace in work(options, tmp_path):
        assert calls_in(trace) - {"<built-in method clear of dict object>"} == set()


def test_what_the_program_does_in_our_hands_is_recorded() -> None:
    traces: list[kg.Trace] = []

    def helper() -> None: ...

    def handler(p: kg.profile) -> None:
        helper()
        traces.append(p.trace)

    def on_enter(fn: object) -> None:
        helper()

    def recorded_steps(step: int) -> kg.ProfilerAction:
        return kg.ProfilerAction.RECORD_AND_SAVE

    def trace_id() -> str:
        return "x"

    options: dict[str, Any] = {"schedule": recorded_steps, "custom_trace_id_callback": trace_id}
    handle = kg.add_global_callback(on_enter, None)
    try:
        with (
            kg.profile(with_stack=True) as outer,
            kg.profile(on_trace_ready=handler, **options) as p,
            kg.scope("s"),
        ):
            p.step()
    finally:
        kg.remove_callback(handle)
    assert traces
    assert calls_in(outer.trace) >= {"handler", "helper", "on_enter", "recorded_steps", "trace_id"}


def test_what_a_scope_decorates_is_recorded() -> None:
    @kg.scope("f")
    def function() -> None: ...

    @kg.scope("g")
    def generator() -> Iterator[int]:
        yield 1

    @kg.scope("h")
    async def coroutine() -> None: ...

    with kg.profile(with_stack=True) as p:
        function()
        list(generator())
        started = coroutine()
        with pytest.raises(StopIteration):
            started.send(None)
    assert calls_in(p.trace) >= {"function", "generator", "coroutine"}


def test_an_observer_that_fails_leaves_only_its_own_calls() -> None:
    def failing(fn: object) -> None:
        raise ValueError

    handle = kg.add_global_callback(failing, None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with kg.profile(with_stack=True) as p, kg.scope("s", n=1):
                pass
    finally:
        kg.remove_callback(handle)
    assert calls_in(p.trace) == {"failing"}

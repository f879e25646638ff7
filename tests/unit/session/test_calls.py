"""Python calls as events: what is there, what is left out, and how it goes beside other tools."""

from __future__ import annotations

import _thread
import asyncio
import cProfile
import gc
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

import kinetograph as kg
from kinetograph.errors import KinetographError
from traced_calls import calls_in, missing, recorded, runs_of, short

SEES_FRAMES_BEFORE_3_12 = sys.version_info < (3, 12)
EVALUATES_FRAMES = (3, 11, 4) <= sys.version_info < (3, 12)
USES_PROFILE_FUNCTION = sys.version_info < (3, 11, 4)


def calls_of(trace: kg.Trace) -> Counter[str]:
    return calls_in(trace, __file__)


def leaf() -> None:
    pass


def parent() -> None:
    leaf()
    leaf()


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def three_values() -> Iterator[int]:
    leaf()
    yield 1
    yield 2


def test_each_call_is_an_event_inside_its_caller() -> None:
    trace = recorded(parent)
    assert calls_of(trace) == {"parent": 1, "leaf": 2}
    assert {short(event.parent.name) for event in runs_of(trace, "leaf") if event.parent} == {"parent"}


def test_a_call_is_named_as_kineto_names_it() -> None:
    event = runs_of(recorded(leaf), "leaf")[0]
    line = leaf.__code__.co_firstlineno
    assert event.name.endswith(f"test_calls.py({line}): leaf")
    assert event.category == "python_function"


def test_a_method_tells_its_qualified_name() -> None:
    class Thing:
        def method(self) -> None:
            pass

    (event,) = runs_of(recorded(Thing().method), "method")
    assert event.args["Qualified name"].endswith("Thing.method")


def test_recursion_is_counted_call_by_call() -> None:
    assert calls_of(recorded(lambda: fibonacci(7)))["fibonacci"] == 41


def test_frames_that_were_open_are_spans_of_the_whole_window() -> None:
    trace = recorded(leaf)
    (event,) = runs_of(trace, "test_frames_that_were_open_are_spans_of_the_whole_window")
    assert not event.finished
    assert event.end_ns == max(event.end_ns for event in trace.events)


def test_an_exception_ends_every_call_it_passes() -> None:
    def failing() -> None:
        raise ValueError

    def passing() -> None:
        failing()

    def catching() -> None:
        with suppress(ValueError):
            passing()
        leaf()

    trace = recorded(catching)
    assert calls_of(trace) == {"failing": 1, "passing": 1, "catching": 1, "leaf": 1}
    (last,) = runs_of(trace, "leaf")
    assert last.parent is not None
    assert short(last.parent.name) == "catching"


def test_a_generator_is_a_span_per_run_and_one_call() -> None:
    trace = recorded(lambda: list(three_values()))
    runs = runs_of(trace, "three_values")
    assert [event.is_resumed for event in runs] == [False, True, True]
    assert calls_of(trace)["three_values"] == 1


def test_time_a_generator_is_suspended_is_not_its_own() -> None:
    def consume() -> None:
        for _ in three_values():
            leaf()

    trace = recorded(consume)
    inside = [short(event.parent.name) for event in runs_of(trace, "leaf") if event.parent]
    assert inside == ["three_values", "consume", "consume"]


@pytest.mark.parametrize("end", ["close", "throw", "drop"])
def test_a_generator_that_is_ended_early_has_its_end(end: str) -> None:
    def work() -> None:
        values = three_values()
        next(values)
        if end == "close":
            values.close()
        elif end == "throw":
            with suppress(KeyError):
                values.throw(KeyError())
        del values
        leaf()

    trace = recorded(work)
    assert all(event.finished for event in runs_of(trace, "three_values"))
    last = runs_of(trace, "leaf")[-1]
    assert last.parent is not None
    assert short(last.parent.name) == "work"


def test_coroutines_of_interleaved_tasks_nest_in_the_loop() -> None:
    async def step() -> None:
        await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(step(), step(), step())

    trace = recorded(lambda: asyncio.run(main()))
    assert calls_of(trace)["step"] == 3
    assert len(runs_of(trace, "step")) == 6


def test_threads_are_recorded_from_their_first_call_under_their_name() -> None:
    def work() -> None:
        thread = threading.Thread(target=leaf, name="worker bee")
        thread.start()
        thread.join()

    (event,) = runs_of(recorded(work), "leaf")
    assert "worker bee" in event.track.name


def test_a_thread_that_ran_before_is_recorded_from_the_start() -> None:
    begun, go, done = threading.Event(), threading.Event(), threading.Event()

    def waiting() -> None:
        begun.set()
        go.wait()
        leaf()
        done.set()
        last.wait()

    last = threading.Event()
    thread = threading.Thread(target=waiting)
    thread.start()
    begun.wait()

    def release() -> None:
        go.set()
        done.wait()

    trace = recorded(release)
    last.set()
    thread.join()
    (event,) = runs_of(trace, "waiting")
    assert event.start_ns == trace.start_ns
    assert not event.finished
    assert [short(child.name) for child in event.children if "leaf" in child.name] == ["leaf"]


def test_c_functions_are_recorded_when_asked_for() -> None:
    def work() -> None:
        len([])
        [3, 1].sort()

    (run,) = runs_of(recorded(work, c_calls=True), "work")
    names = Counter(event.name for event in run.children)  # others may call them in other threads
    assert names["<built-in function len>"] == 1
    assert names["<built-in method sort of list object>"] == 1
    (run,) = runs_of(recorded(work), "work")
    assert not run.children


def test_a_python_function_called_by_a_c_function_lies_inside_it() -> None:
    def key(value: int) -> int:
        return -value

    trace = recorded(lambda: sorted([1, 2], key=key), c_calls=True)
    assert {event.parent.name for event in runs_of(trace, "key") if event.parent} == {
        "<built-in function sorted>"
    }


def test_the_line_of_the_call_is_told_when_asked_for() -> None:
    def caller() -> None:
        leaf()

    (event,) = runs_of(recorded(caller, call_lines=True), "leaf")
    assert event.args["Call line"] == caller.__code__.co_firstlineno + 1
    (event,) = runs_of(recorded(caller), "leaf")
    assert "Call line" not in event.args


def test_a_garbage_collection_is_an_event() -> None:
    event = next(event for event in recorded(gc.collect).events if event.name == "Python GC")
    assert event.args["generation"] == 2


def test_garbage_collections_can_be_recorded_without_calls() -> None:
    experimental = kg.ExperimentalConfig(record_python_gc_info=True)
    trace = recorded(gc.collect, config=kg.ProfilerConfig(experimental_config=experimental))
    assert {event.name for event in trace.events} == {"Python GC"}


@pytest.mark.parametrize(
    ("options", "json_is_there", "this_file_is_there"),
    [
        ({}, True, True),
        ({"exclude": ["json"]}, False, True),
        ({"include": ["json"]}, True, False),
        ({"include": ["json"], "exclude": ["json.encoder"]}, True, False),
        ({"exclude": ["*/json/*"]}, False, True),
        ({"exclude": ["js*"]}, False, True),
        ({"include": ["test_calls.py"]}, False, True),
    ],
)
def test_modules_and_paths_are_filtered(
    options: dict[str, Any], json_is_there: bool, this_file_is_there: bool
) -> None:
    import json

    def work() -> None:
        json.loads("[1]")

    trace = recorded(work, **options)
    files = {event.name.partition("(")[0] for event in trace.events}
    assert any("json/" in file for file in files) == json_is_there
    assert any("test_calls" in file for file in files) == this_file_is_there


def test_our_own_functions_are_never_recorded() -> None:
    def work() -> None:
        with kg.scope("x", note=1):
            pass

    assert not any("kinetograph/" in event.name for event in recorded(work).events)


def test_depth_is_counted_from_where_recording_begins() -> None:
    def work() -> None:
        parent()

    trace = recorded(work, include=["test_calls.py"], max_depth=2)
    assert calls_of(trace) == {"work": 1, "parent": 1}
    (around,) = (short(event.name) for event in trace.events if not event.finished)
    assert around == "test_depth_is_counted_from_where_recording_begins"


def test_a_thread_that_begins_later_counts_its_depth_from_its_first_call() -> None:
    def work() -> None:
        _thread.start_new_thread(outermost, ())
        done.wait()

    def outermost() -> None:
        parent()
        done.set()

    done = threading.Event()
    trace = recorded(work, include=["test_calls.py"], max_depth=2)
    assert calls_of(trace)["leaf"] == 0


def test_overlapping_sessions_each_have_their_own_depth() -> None:
    def enable(max_depth: int | None) -> None:
        calls = kg.CallOptions(include=["test_calls.py"], max_depth=max_depth)
        kg.enable_profiler(kg.ProfilerConfig(with_stack=True, calls=calls), all_threads=True)

    def inner() -> None:
        enable(None)
        parent()

    def outer() -> None:
        inner()

    enable(1)
    outer()
    everything = kg.disable_profiler().trace
    shallow = kg.disable_profiler().trace
    assert set(calls_of(shallow)) <= {"outer", "enable"}
    assert calls_of(shallow)["outer"] == 1
    assert calls_of(everything)["leaf"] == 2
    assert not runs_of(shallow, "inner")


def test_a_call_that_a_later_session_makes_visible_begins_inside_its_caller() -> None:
    def enable(max_depth: int | None) -> None:
        calls = kg.CallOptions(include=["test_calls.py"], max_depth=max_depth)
        kg.enable_profiler(kg.ProfilerConfig(with_stack=True, calls=calls), all_threads=True)

    def second() -> None:
        third()

    def third() -> None:
        enable(None)
        leaf()

    def in_thread() -> None:
        second()

    enable(1)
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    leaf()
    shallow = kg.disable_profiler().trace  # the session of this thread
    everything = kg.disable_profiler().trace
    assert calls_of(shallow)["in_thread"] == calls_of(everything)["in_thread"] == 1
    assert not runs_of(shallow, "second")
    assert calls_of(everything)["second"] == 1


def test_short_calls_are_left_out_and_counted() -> None:
    trace = recorded(lambda: fibonacci(6), min_duration_ns=10**9)
    assert calls_of(trace) == {}
    assert any("shorter" in note.text for note in trace.notes if note.kind == "brief")


@pytest.mark.parametrize("options", [{}, {"call_lines": True}, {"min_duration_ns": 1}])
def test_functions_that_were_never_called_before_have_their_names(options: dict[str, Any]) -> None:
    functions: dict[str, Any] = {}
    code = "def inner(): pass\ndef outer():\n    inner()\n"
    exec(compile(code, "new.py", "exec"), functions)
    trace = recorded(functions["outer"], **options)
    names = [event.name for event in trace.events if event.category == "python_function"]
    assert [name for name in names if not name or name.startswith("new.py")] == [
        "new.py(2): outer",
        "new.py(1): inner",
    ]


def test_short_calls_are_counted_also_where_another_session_records_them() -> None:
    calls = kg.CallOptions(min_duration_ns=10**9)
    kg.enable_profiler(kg.ProfilerConfig(with_stack=True), all_threads=True)
    kg.enable_profiler(kg.ProfilerConfig(with_stack=True, calls=calls), all_threads=True)
    fibonacci(6)
    (brief,) = (note.text for note in kg.disable_profiler().trace.notes if note.kind == "brief")
    everything = kg.disable_profiler().trace
    assert int(brief.split()[0]) >= calls_of(everything)["fibonacci"] == 25
    assert "brief" not in {note.kind for note in everything.notes}


def test_overlapping_sessions_each_get_the_calls_they_asked_for() -> None:
    config = kg.ProfilerConfig(with_stack=True, calls=kg.CallOptions(c_calls=True))
    kg.enable_profiler(config, all_threads=True)
    kg.enable_profiler(kg.ProfilerConfig(with_stack=True), all_threads=True)
    kg.enable_profiler(all_threads=True)
    with kg.scope("s"):
        parent()
        len("")
    none, plain, everything = (kg.disable_profiler().trace for _ in range(3))
    assert [event.name for event in none.events] == ["s"]
    assert calls_of(plain)["leaf"] == calls_of(everything)["leaf"] == 2
    assert not any(event.name.startswith("<built-in") for event in plain.events)
    assert any(event.name == "<built-in function len>" for event in everything.events)


def test_a_session_that_begins_inside_another_sees_the_frames_around_it() -> None:
    def inner() -> None:
        nonlocal trace
        trace = recorded(leaf)

    trace = kg.Trace()
    recorded(inner, include=["test_calls.py"])
    (event,) = runs_of(trace, "inner")
    assert not event.finished


def test_scopes_and_calls_share_their_thread() -> None:
    def work() -> None:
        with kg.scope("outer"):
            leaf()

    trace = recorded(work)
    (event,) = runs_of(trace, "leaf")
    assert event.parent is not None
    assert event.parent.name == "outer"
    assert event.parent.parent is not None
    assert short(event.parent.parent.name) == "work"


def test_cprofile_runs_beside_us_and_is_left_in_place() -> None:
    profile = cProfile.Profile()

    def work() -> None:
        profile.enable()
        parent()
        profile.disable()

    trace = recorded(work)
    counted = {
        entry.code.co_name: entry.callcount for entry in profile.getstats() if not isinstance(entry.code, str)
    }
    assert counted["leaf"] == 2
    if USES_PROFILE_FUNCTION:  # of which there is one only
        assert len(missing(trace)) == 1
    else:
        assert calls_of(trace)["leaf"] == 2


def test_a_profile_function_that_was_there_stays_and_goes_on() -> None:
    seen: Counter[str] = Counter()

    def hook(frame: Any, event: str, arg: object) -> None:
        if event == "call":
            seen[frame.f_code.co_name] += 1

    sys.setprofile(hook)
    try:
        trace = recorded(parent, c_calls=True)
        assert sys.getprofile() is hook
        parent()
    finally:
        sys.setprofile(None)
    assert seen["leaf"] == 4
    assert calls_of(trace)["leaf"] == 2


def test_nothing_is_left_installed_after_the_last_session() -> None:
    recorded(leaf, c_calls=True)
    assert sys.getprofile() is None
    assert threading.getprofile() is None
    assert not any("kinetograph" in str(callback) for callback in gc.callbacks)
    if sys.version_info >= (3, 12):
        assert [sys.monitoring.get_tool(tool) for tool in range(6)].count("kinetograph") == 0


def test_a_deep_recursion_uses_no_more_stack_than_python_does() -> None:
    def dive(depth: int) -> int:
        return dive(depth - 1) + 1 if depth else 0

    limit = sys.getrecursionlimit()
    deep = 50_000 if SEES_FRAMES_BEFORE_3_12 else 3_000
    sys.setrecursionlimit(deep + 1_000)
    try:
        trace = recorded(lambda: dive(deep))
        assert calls_of(recorded(parent)) == {"parent": 1, "leaf": 2}
    finally:
        sys.setrecursionlimit(limit)
    assert calls_of(trace)["dive"] > 2_900


def test_a_call_that_was_open_and_ended_unseen_holds_no_later_call() -> None:
    def opener() -> None:
        kg.enable_profiler(kg.ProfilerConfig(with_stack=True), all_threads=True)

    opener()
    leaf()
    trace = kg.disable_profiler().trace
    (event,) = runs_of(trace, "leaf")
    assert event.parent is not None
    assert short(event.parent.name) == "test_a_call_that_was_open_and_ended_unseen_holds_no_later_call"


def test_a_forked_child_records_nothing_and_the_parent_goes_on() -> None:
    def work() -> None:
        child = os.fork()
        if child == 0:
            leaf()
            os._exit(0 if not kg.is_profiler_enabled_in_main_thread() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        leaf()

    assert calls_of(recorded(work))["leaf"] == 1


def test_scopes_carry_their_stack_where_calls_are_off() -> None:
    def work() -> None:
        with kg.scope("s", n=1):
            pass

    trace = recorded(work, mode="off")
    (event,) = trace.events
    assert [short(frame) for frame in event.stack][:2] == ["work", "recorded"]
    assert event.args["n"] == 1


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "guess"},
        {"include": "json"},
        {"include": None},
        {"include": [""]},
        {"include": ["a\0b"]},
        {"exclude": [1]},
        {"exclude": ["\ud800"]},
        {"max_depth": 0},
        {"max_depth": True},
        {"max_depth": 2.0},
        {"min_duration_ns": -1},
        {"min_duration_ns": True},
        {"min_duration_ns": 1.5},
        {"sample_hz": True, "mode": "sample"},
        {"sample_hz": 100.0, "mode": "sample"},
        {"c_calls": 1},
        {"call_lines": None},
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(KinetographError, match=next(iter(options))):
        kg.CallOptions(**options)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
def test_other_tools_that_hold_our_ids_are_told_about() -> None:
    for tool in (3, 4):
        sys.monitoring.use_tool_id(tool, "other")
    try:
        with pytest.raises(KinetographError, match=r"sys\.monitoring"):
            recorded(leaf)
    finally:
        for tool in (3, 4):
            sys.monitoring.free_tool_id(tool)
    assert calls_of(recorded(leaf)) == {"leaf": 1}


def test_naming_a_thread_runs_nothing_of_the_program() -> None:
    asked: list[str] = []

    class Proxy:
        def __getattr__(self, name: str) -> str:
            asked.append(name)
            return name

    def worker(_proxy: Proxy) -> None:
        leaf()
        done.set()

    done = threading.Event()

    def work() -> None:
        _thread.start_new_thread(worker, (Proxy(),))
        done.wait()

    recorded(work)
    assert asked == []


def test_a_profile_function_read_while_we_record_can_be_set_again() -> None:
    seen: list[str] = []

    def hook(frame: Any, event: str, arg: object) -> None:
        seen.append(frame.f_code.co_name)

    def work() -> None:
        kept = sys.getprofile()
        sys.setprofile(None)
        sys.setprofile(kept)
        leaf()

    sys.setprofile(hook)
    try:
        recorded(work, c_calls=True)
    finally:
        sys.setprofile(None)
    assert "leaf" in seen

"""Calls that go by the object they are made on: as the modules of torch do, here with classes of our own."""

from __future__ import annotations

import copy
import gc
import os
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kinetograph as kg
from kinetograph import _native

HERE = os.path.basename(__file__)


class Part:
    """Called through one function, whatever it does."""

    def __init__(self, *parts: Callable[[], object]) -> None:
        self.parts = parts

    def __call__(self) -> None:
        self.run()

    def run(self) -> None:
        for part in self.parts:
            part()


class Wheel(Part):
    pass


class Slotted:
    """Nothing can refer to it weakly."""

    __slots__ = ()

    def __call__(self) -> None:
        leaf()


_native.name_calls_by_object(Part.__call__.__code__, "Part: ")
_native.name_calls_by_object(Slotted.__call__.__code__, "Slotted: ")

MODULES = kg.ProfilerConfig(with_modules=True)


def leaf() -> None:
    pass


def recorded(work: Callable[[], object], config: kg.ProfilerConfig = MODULES) -> kg.Trace:
    gc.disable()  # what it calls back would be among the calls
    kg.enable_profiler(config, all_threads=True)
    try:
        work()
    finally:
        trace = kg.disable_profiler().trace
        gc.enable()
    return trace


def shown(trace: kg.Trace) -> list[str]:
    """Names of all calls, each behind those of the parts around it."""
    return [
        "/".join([*event.module_hierarchy, event.name.rpartition(": ")[2]])
        for event in trace.events
        if event.is_python_function
    ]


def lost(trace: kg.Trace) -> list[str]:
    return [
        note.text for note in trace.notes if note.kind in ("missing", "unbalanced", "late_ends", "dropped")
    ]


def test_only_calls_of_objects_are_recorded_under_class_and_number() -> None:
    first, second = Wheel(leaf), Wheel()
    car = Part(first, second, first)
    trace = recorded(car)
    assert shown(trace) == ["Part_0", "Part_0/Wheel_0", "Part_0/Wheel_1", "Part_0/Wheel_0"]
    assert trace.events[1].name == "Part: Wheel_0"
    assert [event.python_module_id for event in trace.events] == [0, 0, 1, 0]
    assert trace.events[1].args == {"Python module id": 0}
    assert lost(trace) == []


def test_numbers_begin_anew_with_each_session() -> None:
    first, second = Wheel(), Wheel()
    recorded(Part(first, second))
    assert shown(recorded(Part(second, first))) == ["Part_0", "Part_0/Wheel_0", "Part_0/Wheel_1"]


def test_among_all_calls_they_stand_in_place_of_the_function() -> None:
    trace = recorded(Wheel(leaf), kg.ProfilerConfig(with_stack=True))
    here = [event for event in trace.events if event.finished]
    assert [event.name.rpartition(": ")[2] for event in here] == ["Wheel_0", "run", "leaf"]
    (leaf_call,) = (event for event in here if event.name.endswith(": leaf"))
    assert [frame.rpartition(": ")[2] for frame in leaf_call.stack[:2]] == ["run", "Wheel_0"]
    assert leaf_call.module_hierarchy == ["Wheel_0"]


def test_calls_of_c_functions_lie_in_them() -> None:
    def fail() -> None:
        len(())
        raise KeyError("failed")

    def work() -> None:
        with pytest.raises(KeyError):
            Part(Wheel(lambda: len(())), Wheel(fail))()

    trace = recorded(work, kg.ProfilerConfig(with_stack=True, calls=kg.CallOptions(c_calls=True)))
    parts = [name for name in shown(trace) if name.rpartition("/")[2] in ("Part_0", "Wheel_0", "Wheel_1")]
    assert parts == ["Part_0", "Part_0/Wheel_0", "Part_0/Wheel_1"]
    lengths = [event.module_hierarchy for event in trace.events if event.name == "<built-in function len>"]
    # Others may call it meanwhile: libraries that listen to the garbage collector, say.
    assert [found for found in lengths if found] == [["Part_0", "Wheel_0"], ["Part_0", "Wheel_1"]]
    assert lost(trace) == []


def test_filters_leave_modules_that_are_asked_for() -> None:
    other = kg.CallOptions(include=["nothing_of_this_name"])
    asked = kg.ProfilerConfig(with_stack=True, with_modules=True, calls=other)
    assert shown(recorded(Part(Wheel(leaf)), asked)) == ["Part_0", "Part_0/Wheel_0"]
    not_asked = kg.ProfilerConfig(with_stack=True, calls=other)
    assert shown(recorded(Part(Wheel(leaf)), not_asked)) == []
    assert shown(recorded(Part(Wheel(leaf)), asked)) == ["Part_0", "Part_0/Wheel_0"]


def test_brief_ones_stay_where_modules_are_asked_for() -> None:
    long_ones = kg.CallOptions(min_duration_ns=10**12)
    asked = kg.ProfilerConfig(with_modules=True, calls=long_ones)
    trace = recorded(Wheel(leaf), asked)
    assert [name for name in shown(trace) if "Wheel" in name] == ["Wheel_0"]
    assert not any(name.endswith("leaf") for name in shown(trace))
    trace = recorded(Wheel(leaf), kg.ProfilerConfig(calls=long_ones))
    assert not any("Wheel" in name for name in shown(trace))


def test_sessions_get_what_they_asked_for_and_no_more() -> None:
    modules, everything, nothing = (
        kg.profile(activities=["cpu"], **options)
        for options in ({"with_modules": True}, {"with_stack": True}, {})
    )
    for profile in (nothing, modules, everything):
        profile.start()
    gc.collect()
    Part(Wheel(leaf))()
    for profile in (everything, modules, nothing):
        profile.stop()
    assert shown(modules.trace) == ["Part_0", "Part_0/Wheel_0"]
    called = Counter(name.rpartition("/")[2] for name in shown(everything.trace))
    assert called["leaf"] == called["Part_0"] == called["Wheel_0"] == called["Python GC"] == 1
    assert shown(nothing.trace) == []


def test_an_exception_ends_the_calls_it_leaves() -> None:
    def fail() -> None:
        raise KeyError("failed")

    def work() -> None:
        with pytest.raises(KeyError):
            Part(Wheel(fail))()
        Wheel()()

    trace = recorded(work)
    assert shown(trace) == ["Part_0", "Part_0/Wheel_0", "Wheel_1"]
    assert all(event.finished for event in trace.events)
    assert lost(trace) == []


@pytest.mark.parametrize("with_stack", [False, True])
def test_recursion_and_many_threads(with_stack: bool) -> None:
    class Deep(Part):
        def run(self) -> None:
            here.left = getattr(here, "left", 30) - 1
            if here.left > 0:
                self()

    here = threading.local()
    shared = Deep()

    def work() -> None:
        threads = [threading.Thread(target=shared) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    trace = recorded(work, kg.ProfilerConfig(with_stack=with_stack, with_modules=True))
    deep = [event for event in trace.events if event.name == "Part: Deep_0"]
    assert Counter(len(event.module_hierarchy) for event in deep) == dict.fromkeys(range(30), 4)
    assert len({event.thread_id for event in deep}) == 4
    assert all(event.finished for event in deep)


def test_calls_that_were_open_are_known_and_end() -> None:
    traces = []

    def begin() -> None:
        kg.enable_profiler(MODULES, all_threads=True)

    Part(Wheel(begin), Wheel(leaf))()
    leaf()
    traces.append(kg.disable_profiler().trace)
    assert shown(traces[0]) == ["Part_0", "Part_0/Wheel_0", "Part_0/Wheel_1"]
    assert all(event.finished for event in traces[0].events)


def test_a_call_that_is_open_at_the_end_is_unfinished() -> None:
    traces = []

    def end() -> None:
        traces.append(kg.disable_profiler().trace)

    kg.enable_profiler(MODULES, all_threads=True)
    Part(Wheel(), Wheel(end))()
    assert shown(traces[0]) == ["Part_0", "Part_0/Wheel_0", "Part_0/Wheel_1"]
    assert [event.finished for event in traces[0].events] == [False, True, False]


def test_a_call_in_another_thread_that_never_gives_a_sign_is_seen() -> None:
    is_in, may_go = threading.Event(), threading.Event()

    def wait() -> None:
        is_in.set()
        may_go.wait()

    thread = threading.Thread(target=Wheel(wait))
    thread.start()
    is_in.wait()
    trace = recorded(leaf)
    may_go.set()
    thread.join()
    (event,) = (event for event in trace.events if event.is_python_function)
    assert (event.name, event.thread_id) == ("Part: Wheel_0", thread.native_id)


def test_no_object_lives_longer_and_its_successor_is_another() -> None:
    alive: weakref.WeakSet[Wheel] = weakref.WeakSet()
    addresses = []

    def work() -> None:
        for _ in range(50):
            wheel = Wheel()
            alive.add(wheel)
            addresses.append(id(wheel))
            wheel()
            del wheel
            assert len(alive) == 0

    assert shown(recorded(work)) == [f"Wheel_{i}" for i in range(50)]
    assert len(set(addresses)) < 50


def test_names_do_not_pile_up_from_session_to_session() -> None:
    wheels = [Wheel() for _ in range(20)]
    recorded(Part(*wheels))
    before = _native.string_count()
    for _ in range(5):
        recorded(Part(*(Wheel() for _ in range(20))))
    assert _native.string_count() - before < 20


def test_classes_of_one_name_count_each_for_itself() -> None:
    def another() -> Part:
        return type("Wheel", (Part,), {})()

    assert shown(recorded(Part(another(), another(), Wheel()))) == ["Part_0"] + ["Part_0/Wheel_0"] * 3


def test_copies_are_others() -> None:
    wheel = Wheel()
    recorded(wheel)
    assert shown(recorded(Part(wheel, copy.deepcopy(wheel)))) == [
        "Part_0",
        "Part_0/Wheel_0",
        "Part_0/Wheel_1",
    ]


def test_an_object_that_cannot_be_told_from_others_goes_by_the_function() -> None:
    trace = recorded(Slotted())
    (event,) = (event for event in trace.events if event.is_python_function)
    assert event.name.endswith("): __call__")
    assert HERE in event.name


def test_depth_does_not_hide_modules_from_who_wants_them_alone() -> None:
    shallow = kg.profile(activities=["cpu"], with_stack=True, calls=kg.CallOptions(max_depth=1))
    modules = kg.profile(activities=["cpu"], with_modules=True)
    with shallow, modules:
        Part(Part(Part()))()
    assert len(shown(modules.trace)) == 3


def test_a_forked_child_has_a_session_of_its_own() -> None:
    def work() -> None:
        child = os.fork()
        if child == 0:
            trace = recorded(Part(Wheel()))
            os._exit(0 if shown(trace) == ["Part_0", "Part_0/Wheel_0"] else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        Wheel()()

    assert shown(recorded(work)) == ["Wheel_0"]


def test_scopes_keep_their_stacks_where_calls_are_not_recorded() -> None:
    def scoped() -> None:
        with kg.scope("inside"):
            pass

    off = kg.ProfilerConfig(with_stack=True, with_modules=True, calls=kg.CallOptions(mode="off"))
    trace = recorded(Wheel(scoped), off)
    assert shown(trace) == ["Wheel_0"]
    (inside,) = (event for event in trace.events if event.name == "inside")
    frames = [frame.rpartition(": ")[2] for frame in inside.args["Call stack"].split(";")]
    assert frames[:3] == ["scoped", "run", "__call__"]


@pytest.mark.parametrize("suffix", [".json", ".pftrace"])
def test_files_hold_what_was_recorded(suffix: str, tmp_path: Path) -> None:
    trace = recorded(Part(Wheel(), Wheel()))
    trace.save(str(tmp_path / f"trace{suffix}"))
    again = kg.load(tmp_path / f"trace{suffix}")
    assert shown(again) == shown(trace) == ["Part_0", "Part_0/Wheel_0", "Part_0/Wheel_1"]
    assert [event.python_module_id for event in again.events] == [0, 0, 1]


def test_code_may_be_named_while_calls_are_recorded() -> None:
    class Late:
        def __call__(self, then: Callable[[], object] | None = None) -> None:
            if then:
                then()

    late = Late()
    kg.enable_profiler(kg.ProfilerConfig(with_modules=True), all_threads=True)
    late()
    _native.name_calls_by_object(Late.__call__.__code__, "Late: ")
    late()
    late(late)
    trace = kg.disable_profiler().trace
    assert shown(trace) == ["Late_0", "Late_0", "Late_0/Late_0"]


def test_only_code_can_be_named() -> None:
    argument: Any = leaf
    with pytest.raises(TypeError, match="code object"):
        _native.name_calls_by_object(argument, "")

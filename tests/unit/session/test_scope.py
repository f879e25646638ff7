"""`scope`, `mark` and `counter`: what one event carries, and what odd use leads to."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import gc
import json
import math
import pickle
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kinetograph as kg
from kinetograph.errors import KinetographError
from kinetograph.trace import EventKind
from recorded import by_name, names, notes, recording, tree


def args_of(*args: Any, **metadata: Any) -> dict[str, Any]:
    """What the event of one scope carries; the program must not have noticed anything."""
    with recording(all_threads=False) as window, kg.scope("detailed", *args, **metadata):
        pass
    (event,) = window.trace.events
    assert event.name == "detailed"
    return event.args


# Use as it is meant


def test_a_scope_is_a_span_of_the_kind_user_scope() -> None:
    with recording() as window, kg.scope("work"):
        pass
    (event,) = window.trace.events
    assert (event.name, event.category, event.kind) == ("work", "user_annotation", EventKind.SPAN)
    assert (event.scope, event.finished, event.parent) == (kg.RecordScope.USER_SCOPE, True, None)


def test_record_function_is_the_same_thing() -> None:
    assert kg.record_function is kg.scope


def test_entering_gives_the_scope_itself() -> None:
    with kg.scope("work") as scope:
        assert scope.name == "work"
    assert repr(scope) == "kinetograph.scope('work')"


def test_a_mark_is_an_instant_and_a_counter_has_a_value() -> None:
    with recording() as window:
        kg.mark("here")
        kg.counter("queue", 12)
        kg.counter("load", 0.25)
    events = by_name(window.trace)
    assert (events["here"].kind, events["here"].duration_ns) == (EventKind.INSTANT, 0)
    assert events["here"].category == "cpu_instant_event"
    assert (events["queue"].kind, events["queue"].value, events["load"].value) == (
        EventKind.COUNTER,
        12,
        0.25,
    )


@pytest.mark.parametrize("value", [0, -1, 1e300, -5e-324, 2**53, 10**15, 123456789.123, True])
def test_counters_keep_their_value_to_the_last_bit(value: float) -> None:
    with recording() as window:
        kg.counter("value", value)
    assert window.trace.events[0].value == float(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_counters_that_json_cannot_write_are_null(value: float, tmp_path: Path) -> None:
    with recording() as window:
        kg.counter("value", value)
    window.trace.save(tmp_path / "trace.json")
    assert window.trace.events[0].value is None
    json.loads((tmp_path / "trace.json").read_text())


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: kg.scope(), "scope() expects a name"),
        (lambda: kg.scope(3), "scope() expects a name of type str, got int"),
        (lambda: kg.scope(b"bytes"), "got bytes"),
        (lambda: kg.scope(print), 'as a decorator write @kg.scope("name")'),
        (lambda: kg.mark(None), "mark() expects a name of type str, got NoneType"),
        (lambda: kg.mark(), "mark() expects a name, got 0 arguments\nhint: kg.mark("),
        (lambda: kg.mark("x", 1), "mark() expects a name, got 2 arguments"),
        (lambda: kg.mark("x", args="a"), "mark() expects a name and no keywords, got args="),
        (lambda: kg.mark(name="x"), "mark() expects a name and no keywords, got name="),
        (lambda: kg.counter("x"), "counter() expects a name and a value, got 1 arguments"),
        (
            lambda: kg.counter("x", value=1),
            "counter() expects a name and a value and no keywords, got value=",
        ),
        (lambda: kg.counter("x", "y"), "counter() expects a number as value"),
    ],
)
@pytest.mark.parametrize("on", [False, True])
def test_wrong_use_is_a_type_error_whether_recording_or_not(use: Any, message: str, on: bool) -> None:
    if not on:
        with pytest.raises(kg.ArgumentError) as caught:
            use()
    else:
        with recording(), pytest.raises(kg.ArgumentError) as caught:
            use()
    assert message in str(caught.value)
    assert isinstance(caught.value, TypeError)
    assert caught.value.hint


def test_no_keywords_are_as_many_as_none() -> None:
    """C code may say so by an empty tuple."""
    call = ctypes.pythonapi.PyObject_Vectorcall
    call.restype = ctypes.py_object
    call.argtypes = (ctypes.py_object, ctypes.py_object * 2, ctypes.c_size_t, ctypes.py_object)
    with recording() as recorded:
        call(kg.mark, (ctypes.py_object * 2)("here", None), 1, ())
        call(kg.counter, (ctypes.py_object * 2)("queue", 3.0), 2, ())
    assert [event.name for event in recorded.trace.events] == ["here", "queue"]


def test_what_a_value_of_a_counter_raises_itself_reaches_the_program() -> None:
    class Broken:
        def __init__(self, error: BaseException) -> None:
            self.error = error

        def __float__(self) -> float:
            raise self.error

    for error in (ValueError("none"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            kg.counter("x", Broken(error))  # type: ignore[arg-type]


def test_scopes_are_copied_and_pickled_with_what_holds_them() -> None:
    holder = {"plain": kg.scope("x"), "detailed": kg.scope("x", args="a")}
    assert copy.deepcopy(holder) == holder == copy.copy(holder)
    assert pickle.loads(pickle.dumps(kg.scope("x"))).name == "x"
    with pytest.raises(kg.ArgumentError, match="cannot be pickled: it has more than a name"):
        pickle.dumps(holder["detailed"])


# Kinds


@pytest.mark.parametrize("kind", list(kg.RecordScope))
def test_every_kind_is_kept_and_all_but_user_scopes_are_operators(kind: kg.RecordScope) -> None:
    with recording() as window, kg.scope("op", kind=kind):
        pass
    (event,) = window.trace.events
    assert event.scope is kind
    assert event.category == ("user_annotation" if kind is kg.RecordScope.USER_SCOPE else "cpu_op")


def test_a_kind_may_be_named() -> None:
    with recording() as window, kg.scope("op", kind="backward_function"):
        pass
    assert window.trace.events[0].scope is kg.RecordScope.BACKWARD_FUNCTION


def test_a_kind_that_is_none_is_refused_with_those_there_are() -> None:
    with pytest.raises(KinetographError, match="kind: expected a member of RecordScope, got 99"):
        kg.scope("op", kind=99)


# Arguments and metadata


def test_args_are_a_text_and_metadata_are_values() -> None:
    assert args_of("shown", step=3, ratio=0.5, path="a/b", flag=True, none=None, items=[1, {"a": 2}]) == {
        "args": "shown",
        "step": 3,
        "ratio": 0.5,
        "path": "a/b",
        "flag": True,
        "none": None,
        "items": [1, {"a": 2}],
    }


def test_args_must_be_text() -> None:
    with pytest.raises(KinetographError, match="args: expected a string, got 3"):
        kg.scope("x", 3)


class Unfriendly:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def circular() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        b"bytes\xff",
        object(),
        {1, 2},
        1 + 2j,
        np.float32(1.5),
        np.int64(7),
        np.arange(3),
        Path("a/b"),
        {"deep": [math.nan, b"x"]},
        {("a", "tuple"): 1},
        10**400,
        "lone \ud800 surrogate",
        Unfriendly(),
        circular(),
        type,
    ],
    ids=lambda value: type(value).__name__,
)
def test_metadata_of_any_type_becomes_json_and_never_reaches_the_program(
    value: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with recording() as window, kg.scope("odd", odd=value, plain=1):
        pass
    window.trace.save(tmp_path / "trace.json")
    (event,) = [
        event
        for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
        if event.get("name") == "odd"
    ]
    assert event["args"]["plain"] == 1
    assert "odd" in event["args"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("key", ["name", "self", "args ", "scope", "with space", "ü", 'quo"te', "", "\ud800"])
def test_metadata_may_have_any_key(key: str) -> None:
    spelled = key.encode("utf-8", "backslashreplace").decode()
    found = args_of(**{key: "value"})
    assert found == {key: "value"} or found == {spelled: "value"}


def test_metadata_too_large_for_a_buffer_are_left_out_and_counted() -> None:
    with recording() as window:
        with kg.scope("large", text="x" * 100_000):
            pass
        with kg.scope("fits", text="x" * 50_000):
            pass
    events = by_name(window.trace)
    assert events["large"].args == {}
    assert len(events["fits"].args["text"]) == 50_000
    assert notes(window.trace, "oversized") == [
        "1 events lost their arguments, which were larger than 60 KiB"
    ]


def test_a_scope_with_details_can_be_entered_again_and_within_itself() -> None:
    scope = kg.scope("again", step=1)
    with recording() as window:
        with scope, scope:
            pass
        with scope:
            pass
    assert tree(window.trace) == [("again", [("again", [])]), ("again", [])]
    assert [event.args for event in window.trace.events] == [{"step": 1}] * 3


# Inputs


def inputs_of(*inputs: Any, shapes: bool = True) -> kg.Event:
    kg.enable_profiler(kg.ProfilerConfig(report_input_shapes=shapes))
    try:
        with kg.scope("op", kind="function", inputs=list(inputs)):
            pass
    finally:
        result = kg.disable_profiler()
    (event,) = result.events
    return event


def test_inputs_give_dims_strides_and_types_when_shapes_are_on() -> None:
    matrix = np.zeros((3, 4), dtype=np.float32)
    event = inputs_of(matrix, matrix.T, np.zeros(5, dtype=np.int64)[::2], 1.5)
    assert event.shapes == [[3, 4], [4, 3], [3], []]
    assert event.strides == [[4, 1], [1, 4], [2], []]
    assert event.dtypes == ["float", "float", "long int", "Scalar"]
    assert event.has_shapes


def test_inputs_are_not_held_in_a_thread_that_nobody_records() -> None:
    seen: list[object] = []

    def work() -> None:
        array = np.zeros(3)
        gone = weakref.ref(array)
        with kg.scope("op", inputs=[array]):
            del array
            seen.append(gone())

    with recording(all_threads=False):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == [None]


def test_without_shapes_inputs_leave_nothing() -> None:
    event = inputs_of(np.zeros(3), shapes=False)
    assert event.args == {}
    assert not event.has_shapes


@pytest.mark.parametrize("on", [False, True])
def test_arrays_are_not_held_once_the_scope_has_begun(on: bool) -> None:
    kg.enable_profiler(kg.ProfilerConfig(report_input_shapes=on))
    array = np.zeros(1000)
    gone = weakref.ref(array)
    scope = kg.scope("op", inputs=[array])
    with scope:
        del array
        gc.collect()
        assert gone() is None
    assert len(kg.disable_profiler().events) == 1


def test_arrays_are_not_held_while_nobody_records() -> None:
    array = np.zeros(1000)
    gone = weakref.ref(array)
    with kg.scope("op", inputs=[array], step=1):
        del array
        assert gone() is None


def test_inputs_must_be_several() -> None:
    with pytest.raises(KinetographError, match="inputs: expected a list of arrays, got 3"):
        kg.scope("op", inputs=3)


class Strange:
    """Has what arrays have, and none of it as expected."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


@pytest.mark.parametrize(
    "strange",
    [
        Strange(shape=None),
        Strange(shape=5),
        Strange(shape=("a", None)),
        Strange(shape=(3,), strides=(8,)),
        Strange(shape=(3,), strides=(8,), itemsize=0),
        Strange(shape=(3,), stride=3, dtype=None),
        Strange(shape=(-1, 2**80), dtype="odd"),
        np.zeros(3, dtype=[("a", "i4"), ("b", "f8")]),
        np.zeros((2, 0)),
        np.zeros(()),
        np.array(["text"]),
        np.zeros(3, dtype=np.dtype([])),
        None,
        "text",
    ],
    ids=lambda value: repr(getattr(value, "__dict__", value))[:30],
)
def test_strange_inputs_do_not_reach_the_program(strange: Any, capsys: pytest.CaptureFixture[str]) -> None:
    event = inputs_of(np.zeros(2), strange)
    assert event.shapes[0] == [2]
    assert len(event.shapes) == len(event.dtypes) == len(event.strides) == 2
    assert capsys.readouterr().err == ""


def test_inputs_may_come_from_an_iterator() -> None:
    kg.enable_profiler(kg.ProfilerConfig(report_input_shapes=True))
    with kg.scope("op", inputs=(np.zeros(size) for size in (1, 2))):
        pass
    (event,) = kg.disable_profiler().events
    assert event.shapes == [[1], [2]]
    assert event.dtypes == ["double", "double"]


# Odd use


def test_an_exception_passes_through_and_the_scope_ends() -> None:
    with recording() as window:
        with pytest.raises(ValueError, match="passes"), kg.scope("outer"), kg.scope("inner"):
            raise ValueError("passes")
        kg.mark("after")
    assert tree(window.trace) == [("outer", [("inner", [])]), ("after", [])]
    assert all(event.finished for event in window.trace.events)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError])
def test_any_exception_ends_the_scope(error: type[BaseException]) -> None:
    with recording() as window, pytest.raises(error), kg.scope("outer"):
        raise error
    assert window.trace.events[0].finished


def test_an_exit_without_an_enter_is_counted_and_ignored() -> None:
    with recording() as window:
        kg.scope("never entered").__exit__(None, None, None)
        kg.mark("fine")
    assert names(window.trace) == ["fine"]
    assert notes(window.trace, "unbalanced") == [
        "1 scopes ended without having begun in this session and thread"
    ]


def test_a_second_exit_is_counted_and_ignored() -> None:
    with recording() as window:
        with kg.scope("outer"):
            scope = kg.scope("twice")
            scope.__enter__()
            scope.__exit__(None, None, None)
            scope.__exit__(None, None, None)
        kg.mark("fine")
    assert tree(window.trace) == [("outer", [("twice", [])]), ("fine", [])]
    assert notes(window.trace, "unbalanced")[0].startswith("1 scopes")


def test_scopes_left_in_the_wrong_order_keep_their_own_times(tmp_path: Path) -> None:
    first, second = kg.scope("first"), kg.scope("second")
    with recording() as window:
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        kg.mark("between")
        second.__exit__(None, None, None)
    events = by_name(window.trace)
    assert events["first"].start_ns <= events["second"].start_ns
    assert events["first"].end_ns <= events["between"].start_ns <= events["second"].end_ns
    assert notes(window.trace, "unbalanced") == []
    window.trace.save(tmp_path / "trace.json")  # crossing spans go on lanes there
    assert sorted(names(kg.load(tmp_path / "trace.json"))) == ["between", "first", "second"]


def test_a_scope_that_began_before_the_session_is_counted_when_it_ends() -> None:
    with kg.scope("early"):
        session = recording()
        window = session.__enter__()
    session.__exit__(None, None, None)
    assert names(window.trace) == []
    assert notes(window.trace, "unbalanced")[0].startswith("1 scopes")


def test_a_scope_that_outlives_the_session_ends_without_a_trace_of_it() -> None:
    with kg.scope("around"):
        with recording() as first:
            scope = kg.scope("outlives")
            scope.__enter__()
        scope.__exit__(None, None, None)
        with recording() as second, kg.scope("later"):
            pass
    assert [(event.name, event.finished) for event in first.trace.events] == [("outlives", False)]
    assert tree(second.trace) == [("later", [])]
    assert notes(second.trace, "unbalanced") == []


def test_a_scope_left_open_in_one_session_does_not_become_a_parent_in_the_next() -> None:
    with recording():
        kg.scope("left open").__enter__()
    with recording() as window, kg.scope("next"):
        pass
    assert tree(window.trace) == [("next", [])]


def test_a_generator_that_is_suspended_inside_a_scope_does_not_confuse_its_caller() -> None:
    def items() -> Iterator[int]:
        for number in range(3):
            with kg.scope(f"item {number}"):
                yield number

    with recording() as window, kg.scope("caller"):
        for number in items():
            with kg.scope(f"use {number}"):
                pass
    parents = {event.name: event.parent.name for event in window.trace.events if event.parent}
    assert parents == {
        **{f"item {number}": "caller" for number in range(3)},
        **{f"use {number}": f"item {number}" for number in range(3)},
    }


def test_a_scope_is_recorded_from_a_finalizer() -> None:
    class Dying:
        def __del__(self) -> None:
            with kg.scope("last words"):
                pass

    with recording() as window:
        dying = [Dying()]
        with kg.scope("around"):
            dying.clear()
    assert tree(window.trace) == [("around", [("last words", [])])]


def test_scopes_do_not_leak_references() -> None:
    def held() -> int:
        gc.collect()
        return sum(isinstance(each, Tracked) for each in gc.get_objects())

    class Tracked(list[int]):
        pass

    with recording():
        for _ in range(100):
            with kg.scope("x", tracked=Tracked([1])):
                pass
    assert held() == 0


def test_a_scope_works_in_an_exit_stack() -> None:
    kg.enable_profiler()
    with contextlib.ExitStack() as stack:
        stack.enter_context(kg.scope("outer"))
        stack.enter_context(kg.scope("inner", step=1))
    events = kg.disable_profiler().events
    assert [(event.name, event.finished) for event in events] == [("outer", True), ("inner", True)]


def test_the_name_may_be_a_keyword_as_in_torch() -> None:
    kg.enable_profiler()
    with kg.record_function(name="plain"), kg.scope(name="detailed", args="text"):
        pass
    events = kg.disable_profiler().events
    assert [(event.name, event.args) for event in events] == [("plain", {}), ("detailed", {"args": "text"})]


def test_a_scope_without_a_name_is_a_clear_error() -> None:
    for arguments in ({}, {"step": 3}):
        with pytest.raises(TypeError, match=r"scope\(\) expects a name"):
            kg.scope(**arguments)  # type: ignore[call-overload]

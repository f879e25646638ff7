"""Callbacks around scopes: who is called when, with what, and that none of them can hurt the program."""

from __future__ import annotations

import asyncio
import gc
import random
import signal
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import numpy as np
import pytest

import kinetograph as kg
from kinetograph.errors import KinetographError
from observed import Add, Log, observing
from recorded import names, notes, recording


def scope(name: str, **options: Any) -> None:
    with kg.scope(name, **options):
        pass


@pytest.mark.parametrize("add", [kg.add_global_callback, kg.add_thread_local_callback])
def test_what_on_enter_gives_reaches_on_exit(add: Add) -> None:
    log = Log()
    with observing(log.enter, log.leave, add=add), kg.scope("outer"):
        scope("inner")
    assert log.lines == ["> outer", "> inner", "< inner: value of inner", "< outer: value of outer"]


def test_a_callback_is_told_name_kind_and_thread() -> None:
    told: list[kg.RecordFunction] = []
    with observing(told.append):
        scope("op", kind="backward_function")
    (function,) = told
    assert (function.name, function.scope) == ("op", kg.RecordScope.BACKWARD_FUNCTION)
    assert function.thread_id == threading.get_native_id()
    assert (list(function.inputs), function.sequence_number) == ([], -1)


def test_either_callback_may_be_left_out() -> None:
    log = Log()
    with observing(on_enter=log.enter):
        scope("a")
    with observing(on_exit=log.leave):
        scope("b")
    assert log.lines == ["> a", "< b: None"]


def test_observers_need_no_session_and_sessions_no_observers() -> None:
    log = Log()
    with observing(log.enter):
        scope("not recorded")
        with recording() as window:
            scope("both")
    with recording() as alone:
        scope("only recorded")
    assert log.lines == ["> not recorded", "> both"]
    assert names(window.trace) == ["both"]
    assert names(alone.trace) == ["only recorded"]


def test_decorated_functions_and_generators_are_observed() -> None:
    log = Log()

    @kg.scope("function")
    def function() -> None: ...

    @kg.scope("generator")
    def generator() -> Iterator[int]:
        yield 1

    with observing(log.enter, log.leave):
        function()
        list(generator())
    assert [line for line in log.lines if line.startswith(">")] == [
        "> function",
        "> generator",
        "> generator",
    ]


def test_on_exit_runs_when_the_scope_raises_and_does_not_hide_the_exception() -> None:
    log = Log()

    @kg.scope("decorated")
    def fails() -> None:
        raise ValueError("mine")

    with observing(log.enter, log.leave):
        with pytest.raises(ValueError, match="mine"), kg.scope("with"):
            raise ValueError("mine")
        with pytest.raises(ValueError, match="mine"):
            fails()
    assert [line for line in log.lines if line.startswith("<")] == [
        "< with: value of with",
        "< decorated: value of decorated",
    ]


# Who sees what


def test_a_global_callback_sees_all_threads_and_a_thread_local_one_its_own() -> None:
    everywhere, here = Log(), Log()
    with (
        observing(everywhere.enter),
        observing(here.enter, add=kg.add_thread_local_callback),
    ):
        scope("here")
        thread = threading.Thread(target=scope, args=("elsewhere",))
        thread.start()
        thread.join()
    assert everywhere.lines == ["> here", "> elsewhere"]
    assert here.lines == ["> here"]


def test_a_thread_local_callback_can_be_removed_from_another_thread() -> None:
    log = Log()
    handle = kg.add_thread_local_callback(log.enter)
    thread = threading.Thread(target=kg.remove_callback, args=(handle,))
    thread.start()
    thread.join()
    scope("not seen")
    assert log.lines == []


def test_only_the_kinds_asked_for_are_observed() -> None:
    log = Log()
    with observing(log.enter, log.leave, scopes=[kg.RecordScope.FUNCTION, "custom_class"]):
        scope("user scope")
        scope("function", kind="function")
        scope("class", kind="custom_class")
        scope("backward", kind="backward_function")
    assert [line for line in log.lines if line.startswith(">")] == ["> function", "> class"]


def test_a_kind_that_is_none_is_refused() -> None:
    with pytest.raises(KinetographError, match="scopes: expected a member of RecordScope"):
        kg.add_global_callback(print, scopes=["nothing"])


# Sampling


@pytest.mark.parametrize(("probability", "expected"), [(0, 0), (0.0, 0), (1, 1000), (1.0, 1000)])
def test_sampling_at_the_ends_is_none_or_all(probability: float, expected: int) -> None:
    log = Log()
    with observing(log.enter, sampling_probability=probability):
        for _ in range(1000):
            scope("x")
    assert len(log.lines) == expected


def test_sampling_in_between_takes_about_that_many_and_each_with_its_end() -> None:
    random.seed(7)
    log = Log()
    with observing(log.enter, log.leave, sampling_probability=0.5):
        for _ in range(2000):
            scope("x")
    begins = log.lines.count("> x")
    assert 900 < begins < 1100
    assert log.lines == ["> x", "< x: value of x"] * begins


def test_a_sampled_recursion_pairs_each_begin_with_its_own_end() -> None:
    random.seed(3)
    ends: list[tuple[int, int]] = []
    depth = 0

    def enter(_function: kg.RecordFunction) -> int:
        return depth

    def leave(_function: kg.RecordFunction, depth_at_begin: int) -> None:
        ends.append((depth_at_begin, depth))

    def recurse() -> None:
        nonlocal depth
        depth += 1
        if depth < 20:
            with kg.scope("same name"):
                recurse()
        depth -= 1

    with observing(enter, leave, sampling_probability=0.5):
        for _ in range(20):
            recurse()
    assert len(ends) > 50
    assert all(at_begin == at_end for at_begin, at_end in ends)


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_a_probability_that_is_none_is_refused(probability: float) -> None:
    with pytest.raises(KinetographError, match="sampling_probability: expected 0 to 1"):
        kg.add_global_callback(print, sampling_probability=probability)


# Inputs


def test_inputs_are_given_to_those_that_need_them_and_only_at_enter() -> None:
    with_inputs, without, at_exit = [], [], []
    array = np.zeros(3)
    with (
        observing(
            lambda fn: with_inputs.append(fn.inputs),
            lambda fn, _: at_exit.append(fn.inputs),
            needs_inputs=True,
        ),
        observing(lambda fn: without.append(fn.inputs)),
    ):
        scope("op", inputs=[array, 2])
    assert with_inputs[0][0] is array
    assert with_inputs[0][1] == 2
    assert list(without[0]) == list(at_exit[0]) == []


def test_inputs_are_given_while_recording_with_shapes_too() -> None:
    seen = []
    kg.enable_profiler(kg.ProfilerConfig(report_input_shapes=True))
    with observing(lambda fn: seen.append(len(fn.inputs)), needs_inputs=True):
        scope("op", inputs=[np.zeros(3)])
    (event,) = kg.disable_profiler().events
    assert seen == [1]
    assert event.shapes == [[3]]


def test_an_array_itself_may_be_the_inputs() -> None:
    seen = []
    with observing(lambda fn: seen.append(len(fn.inputs)), needs_inputs=True):
        scope("op", inputs=np.zeros((2, 3)))
    assert seen == [2]


@pytest.mark.parametrize("records", [False, True])
def test_inputs_are_not_held_through_the_scope(records: bool) -> None:
    array = np.zeros(3)
    gone = weakref.ref(array)
    with (
        recording() if records else nullcontext(),
        observing(lambda fn: None, lambda fn, value: None, needs_inputs=True),
    ):
        detailed = kg.scope("op", inputs=[array])
        del array
        with detailed:
            gc.collect()
            assert gone() is None


# Errors and changes on the way


class BrokenError(Exception):
    pass


def raise_broken(*_args: Any) -> None:
    raise BrokenError("always")


@pytest.mark.parametrize(("on_enter", "on_exit"), [(raise_broken, None), (None, raise_broken)])
def test_an_error_in_a_callback_is_one_note_and_never_reaches_the_program(
    on_enter: Any, on_exit: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with recording() as window, observing(on_enter, on_exit):
        for _ in range(100):
            scope("x")
    with recording() as later:
        scope("x")
    assert notes(window.trace, "callback") == [
        "raise_broken raised BrokenError('always'); further errors of it are not reported"
    ]
    assert notes(later.trace, "callback") == []
    assert len(window.trace) == 100
    assert capsys.readouterr().err == ""


def test_every_session_is_told_of_a_broken_callback() -> None:
    with observing(raise_broken):
        with recording() as outer, recording() as inner:
            scope("x")
        with recording() as later:
            scope("x")
    for window in (outer, inner, later):
        assert len(notes(window.trace, "callback")) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError])
@pytest.mark.parametrize("at_enter", [True, False])
def test_no_exception_that_a_callback_raises_itself_reaches_the_program(
    error: type[BaseException], at_enter: bool
) -> None:
    def fail(*_args: Any) -> None:
        raise error

    with recording() as window, observing(fail if at_enter else None, None if at_enter else fail):
        scope("x")
    assert names(window.trace) == ["x"]
    assert notes(window.trace, "callback")[0].split(" raised ")[1].startswith(f"{error.__name__}()")


def test_a_callback_that_exits_does_not_end_the_program() -> None:
    with recording() as window, observing(lambda _fn: sys.exit(3)):
        scope("x")
    assert len(notes(window.trace, "callback")) == 1


def send_interrupt(*_args: Any) -> None:
    signal.raise_signal(signal.SIGINT)


@contextmanager
def handling(number: signal.Signals, handler: Any) -> Iterator[None]:
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize(("on_enter", "on_exit"), [(send_interrupt, None), (None, send_interrupt)])
def test_an_interrupt_during_a_callback_reaches_the_program(on_enter: Any, on_exit: Any) -> None:
    with recording() as window, handling(signal.SIGINT, signal.default_int_handler):
        with observing(on_enter, on_exit), pytest.raises(KeyboardInterrupt), kg.scope("interrupted"):
            pass
        scope("after")
    assert names(window.trace)[-1] == "after"
    assert window.trace.events[len(window.trace) - 1].parent is None
    assert notes(window.trace, "callback") == []


class TooLateError(Exception):
    pass


def too_late(*_args: Any) -> None:
    raise TooLateError


class Handler:
    def __call__(self, *_args: Any) -> None:
        raise TooLateError

    def method(self, *_args: Any) -> None:
        too_late()


@pytest.mark.parametrize("handler", [too_late, partial(too_late, 1), Handler(), Handler().method])
def test_what_a_signal_handler_raises_during_a_callback_reaches_the_program(handler: Any) -> None:
    def wait(_function: kg.RecordFunction) -> None:
        signal.raise_signal(signal.SIGUSR1)

    with handling(signal.SIGUSR1, handler), observing(wait), pytest.raises(TooLateError):
        scope("x")


def test_callbacks_told_of_a_begin_are_told_its_end_when_the_next_is_interrupted() -> None:
    log = Log()
    with (
        handling(signal.SIGINT, signal.default_int_handler),
        observing(log.enter, log.leave),
        observing(send_interrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        scope("x")
    assert log.lines == ["> x", "< x: value of x"]


def test_each_broken_callback_has_a_note_of_its_own() -> None:
    with recording() as window, observing(raise_broken), observing(raise_broken):
        scope("x")
        scope("x")
    assert len(notes(window.trace, "callback")) == 2


def test_a_broken_callback_does_not_keep_the_others_from_being_called() -> None:
    log = Log()
    with observing(raise_broken), observing(log.enter, log.leave), observing(None, raise_broken):
        scope("x")
    assert log.lines == ["> x", "< x: value of x"]


def test_an_error_whose_repr_fails_is_still_only_a_note() -> None:
    class WorseError(Exception):
        def __repr__(self) -> str:
            raise RuntimeError("no repr")

    def fail(_function: kg.RecordFunction) -> None:
        raise WorseError

    with recording() as window, observing(fail):
        scope("x")
    assert len(notes(window.trace, "callback")) == 1
    assert names(window.trace) == ["x"]


def test_a_callback_may_remove_itself() -> None:
    log = Log()
    handle = 0

    def once(function: kg.RecordFunction) -> None:
        log.enter(function)
        kg.remove_callback(handle)

    handle = kg.add_global_callback(once)
    scope("first")
    scope("second")
    assert log.lines == ["> first"]


def test_a_callback_may_add_another() -> None:
    log, added = Log(), []

    def add(_function: kg.RecordFunction) -> None:
        if not added:
            added.append(kg.add_global_callback(log.enter))

    with observing(add):
        scope("first")
        scope("second")
    kg.remove_callback(added[0])
    assert log.lines == ["> second"]


def test_scopes_that_a_removed_callback_saw_begin_still_get_their_end() -> None:
    log = Log()
    handle = kg.add_global_callback(log.enter, log.leave)
    with kg.scope("open"):
        kg.remove_callback(handle)
        scope("not seen")
    assert log.lines == ["> open", "< open: value of open"]


def test_a_callback_added_inside_a_scope_does_not_get_its_end() -> None:
    log = Log()
    with kg.scope("already open"):
        handle = kg.add_global_callback(log.enter, log.leave)
        scope("seen")
    kg.remove_callback(handle)
    assert log.lines == ["> seen", "< seen: value of seen"]


def test_scopes_in_a_callback_do_not_call_it_again_for_ever() -> None:
    calls = []

    def enter(function: kg.RecordFunction) -> None:
        calls.append(function.name)
        if len(calls) < 50:
            with kg.scope("inside the callback"):
                pass

    with observing(enter):
        scope("x")
    assert calls == ["x"]


def test_removing_twice_or_something_else_is_an_error() -> None:
    handle = kg.add_global_callback(print)
    kg.remove_callback(handle)
    for wrong in (handle, -1, "x"):
        with pytest.raises(KinetographError, match="there is no callback"):
            kg.remove_callback(wrong)


def test_a_callback_needs_at_least_one_function() -> None:
    with pytest.raises(KinetographError, match="a callback needs on_enter, on_exit or both"):
        kg.add_global_callback()


def test_scopes_left_in_the_wrong_order_get_their_own_ends() -> None:
    log = Log()
    first, second = kg.scope("first"), kg.scope("second")
    with observing(log.enter, log.leave):
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        second.__exit__(None, None, None)
        scope("third")
    assert sorted(log.lines[2:4]) == ["< first: value of first", "< second: value of second"]
    assert log.lines[4:] == ["> third", "< third: value of third"]

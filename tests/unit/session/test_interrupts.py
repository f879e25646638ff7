"""Ctrl-C while a trace is made: what was recorded is there for the next stop, and nothing stays on."""

from __future__ import annotations

import inspect
import itertools
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CDLL
from functools import partial
from typing import Any

import pytest

import kinetograph as kg
from kinetograph import _native
from kinetograph.session import calls
from kinetograph.session.cycle import Cycle
from kinetograph.session.details import emits_shapes, sessions_with_shapes
from kinetograph.session.emitting_session import EmittingSession
from kinetograph.session.kineto_profile import KinetoProfile
from kinetograph.session.recording import Session
from kinetograph.session.step_tracker import KinetoStepTracker
from recorded import names
from stepped import Traces

pytestmark = pytest.mark.filterwarnings("ignore:Profiler clears events")

# Where it comes, and whether the work there has been done by then.
PLACES = [
    (Session, "_look_around", False),
    (_native, "stop_session", False),
    (_native, "stop_session", True),
    (Session, "_join_kernels", False),
    (Session, "_join_kernels", True),
    (calls, "release_calls", False),
    (calls, "release_calls", True),
    (Session, "_describe", False),
    (Session, "_describe", True),
    (KinetoProfile, "_keep", False),
    (KinetoProfile, "_keep", True),
    (Cycle, "let_go", True),
    (KinetoProfile, "_tell_observer", False),
]


@contextmanager
def interrupted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, is_done: bool) -> Iterator[None]:
    real = getattr(owner, name)

    def once(*args: Any, **options: Any) -> Any:
        monkeypatch.undo()
        if is_done:
            real(*args, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, name, once)
    with pytest.raises(KeyboardInterrupt):
        yield


def nothing_is_on() -> bool:
    return not _native.sessions() and not calls._uses and not sessions_with_shapes


@pytest.mark.parametrize(
    "place", PLACES, ids=lambda place: f"{place[1]} {'behind' if place[2] else 'before'}"
)
def test_a_block_gives_its_trace_wherever_its_end_is_interrupted(
    monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str, bool]
) -> None:
    traces = Traces()
    with interrupted(monkeypatch, *place), kg.profile(with_stack=True, on_trace_ready=traces) as prof:
        kg.mark("recorded")
    assert ["recorded" in seen for seen in traces.names] == [True]
    assert "recorded" in names(prof.trace)
    assert nothing_is_on()


@pytest.mark.parametrize(
    "place", PLACES, ids=lambda place: f"{place[1]} {'behind' if place[2] else 'before'}"
)
def test_a_step_that_was_interrupted_is_made_up_for_by_those_behind_it(
    monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str, bool]
) -> None:
    traces = Traces()
    schedule = kg.schedule(wait=0, warmup=1, active=1)
    with kg.profile(schedule=schedule, on_trace_ready=traces, acc_events=True) as prof:
        prof.step()
        kg.mark("recorded")
        with interrupted(monkeypatch, *place):
            prof.step()
        for _ in range(2):
            prof.step()
        kg.mark("again")
    assert sum("recorded" in seen for seen in traces.names) == 1
    assert nothing_is_on()


@pytest.mark.parametrize(
    "place", PLACES, ids=lambda place: f"{place[1]} {'behind' if place[2] else 'before'}"
)
def test_a_signal_handler_may_stop_what_is_being_stopped(
    monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str, bool]
) -> None:
    owner, name, is_done = place
    real, traces = getattr(owner, name), Traces()
    prof = kg.profile(with_stack=True, on_trace_ready=traces, acc_events=True)

    def with_a_stop(*args: Any, **options: Any) -> Any:
        monkeypatch.undo()
        if is_done:
            result = real(*args, **options)
            prof.stop()
            return result
        prof.stop()
        return real(*args, **options)

    with prof:
        kg.mark("recorded")
        monkeypatch.setattr(owner, name, with_a_stop)
    assert [seen.count("recorded") for seen in traces.names] == [1]
    assert names(prof.trace).count("recorded") == 1
    assert len(prof._traces) == 1
    assert nothing_is_on()


STEP_PLACES = [
    *(place for place in PLACES if place[1] != "_tell_observer"),
    (_native, "start_session", True),
    (Cycle, "start", False),
    (Cycle, "start", True),
    (KinetoProfile, "prepare_trace", True),
]


@pytest.mark.parametrize(
    "place", STEP_PLACES, ids=lambda place: f"{place[1]} {'behind' if place[2] else 'before'}"
)
@pytest.mark.parametrize("steps", [(0, 1), (1, 0)], ids=["wait 0 warmup 1", "wait 1 warmup 0"])
@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_a_signal_handler_may_stop_in_the_midst_of_a_step(
    monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str, bool], steps: tuple[int, int]
) -> None:
    """It is stopped when the step is done; what had been recorded is told once, and nothing goes on."""
    owner, name, is_done = place
    real, traces = getattr(owner, name), Traces()
    schedule = kg.schedule(wait=steps[0], warmup=steps[1], active=1)
    prof = kg.profile(schedule=schedule, on_trace_ready=traces, with_stack=True, record_shapes=True)

    def with_a_stop(*args: Any, **options: Any) -> Any:
        monkeypatch.undo()
        result = real(*args, **options) if is_done else None
        prof.stop()
        return result if is_done else real(*args, **options)

    prof.start()
    prof.step()
    monkeypatch.setattr(owner, name, with_a_stop)
    for number in range(3):
        kg.mark(f"step {number}")
        prof.step()
    assert getattr(owner, name) is real, "the place was not reached"
    assert "stopped" in repr(prof)
    assert all(sum(f"step {number}" in seen for seen in traces.names) <= 1 for number in range(3))
    assert nothing_is_on()
    assert not KinetoStepTracker._steps


@pytest.mark.parametrize("place", [(_native, "start_session"), (Session, "start")], ids=["native", "session"])
def test_a_session_whose_start_was_interrupted_records_nothing(
    monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str]
) -> None:
    with interrupted(monkeypatch, *place, True):
        kg.enable_profiler(kg.ProfilerConfig(with_stack=True, report_input_shapes=True))
    assert nothing_is_on()


@pytest.mark.parametrize("state", [kg.ProfilerState.NVTX, kg.ProfilerState.ITT])
@pytest.mark.parametrize("name", ["__init__", "begin", "resume"])
def test_a_session_that_only_emits_whose_start_was_interrupted_sends_nothing(
    monkeypatch: pytest.MonkeyPatch, name: str, state: kg.ProfilerState
) -> None:
    with interrupted(monkeypatch, EmittingSession, name, True):
        kg.enable_profiler(kg.ProfilerConfig(state, report_input_shapes=True))
    assert not emits_shapes()
    with pytest.raises(kg.StateError, match="no session runs"):
        kg.disable_profiler()


CALLED_AT_START = [
    (Cycle, "__init__"),
    (Cycle, "prepare"),
    (Session, "start"),
    (Session, "_begin"),
    (kg.profile, "_begin_step"),
]


@pytest.mark.parametrize(
    "place",
    [(owner, name, True) for owner, name in CALLED_AT_START],
    ids=lambda place: f"{place[0].__name__}.{place[1]}",
)
def test_a_profile_whose_start_was_interrupted_leaves_nothing_on(
    monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str, bool]
) -> None:
    """Also between what makes a cycle, or its session, and what keeps it."""
    prof = kg.profile(with_stack=True, record_shapes=True)
    with interrupted(monkeypatch, *place):
        prof.start()
    assert nothing_is_on()
    with prof:
        kg.mark("recorded")
    assert "recorded" in names(prof.trace)


class InterruptsBehind:
    """An operation in which a signal comes that Python looks at behind it, as in a long one of numpy."""

    __neg__ = staticmethod(partial(getattr(CDLL(None), "raise"), signal.SIGINT))


@pytest.mark.parametrize("block", [kg.profile, kg.emit_nvtx], ids=["profile", "emit"])
def test_a_block_whose_last_operation_was_interrupted_has_ended(
    monkeypatch: pytest.MonkeyPatch, block: Callable[[], Any]
) -> None:
    ended: list[object] = []
    real = block.stop  # type: ignore[attr-defined]
    monkeypatch.setattr(block, "stop", lambda each: (ended.append(each), real(each)))
    last = InterruptsBehind()
    with pytest.raises(KeyboardInterrupt), block() as entered:
        _ = -last  # type: ignore[operator]
    assert entered in ended
    assert nothing_is_on()


def test_an_error_at_the_end_of_an_interrupted_block_tells_of_the_interrupt() -> None:
    last = InterruptsBehind()
    with pytest.raises(OSError, match="full") as told, kg.profile(on_trace_ready=_refuse):
        _ = -last  # type: ignore[operator]
    assert isinstance(told.value.__context__, KeyboardInterrupt)
    assert nothing_is_on()


def test_an_error_within_an_interrupted_block_is_told_of_once() -> None:
    last = InterruptsBehind()
    with pytest.raises(OSError, match="full") as told, kg.profile(on_trace_ready=_refuse):
        _ = -last / 0  # type: ignore[operator]
    within = told.value.__context__
    assert isinstance(within, ZeroDivisionError)
    assert within.__context__ is None


def _refuse(_profile: kg.profile) -> None:
    raise OSError("the disk is full")


def test_the_end_of_a_block_is_a_method_like_others() -> None:
    class Mine(kg.profile):
        __exit__ = kg.profile.__exit__

    assert "traceback" in inspect.signature(kg.profile.__exit__).parameters
    with Mine() as prof:
        kg.mark("recorded")
    assert "recorded" in names(prof.trace)
    prof.start()
    kg.profile.__exit__(prof, None, None, traceback=None)
    assert nothing_is_on()


@pytest.mark.parametrize("name", ["prepare", "__init__"])
def test_a_profile_whose_second_start_failed_keeps_its_first_cycle(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    prof = kg.profile()
    with prof:
        kg.mark("recorded")
    first, known = prof.profiler, prof.get_trace_id()
    with interrupted(monkeypatch, Cycle, name, False):
        prof.start()
    assert prof.profiler is first
    assert prof.get_trace_id() == known


def test_a_cycle_that_was_never_prepared_says_so() -> None:
    cycle = Cycle(kg.profile()._plan)
    for ask in (cycle.start, cycle.pause, cycle.stop, cycle.discard, cycle.let_go):
        with pytest.raises(kg.StateError, match="this trace was never prepared"):
            ask()
    cycle.resume()
    assert not cycle.is_running


def test_a_trace_says_where_it_was_recorded_though_its_stop_was_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kg.enable_profiler(kg.ProfilerConfig(with_stack=True, trace_id="known"))
    with interrupted(monkeypatch, calls, "release_calls", False):
        kg.disable_profiler()
    trace = kg.disable_profiler().trace
    assert trace.metadata["trace_id"] == "known"
    assert [kind for kind, count in Counter(note.kind for note in trace.notes).items() if count > 1] == []


def test_a_discard_that_was_interrupted_lets_go_at_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session.start(kg.ProfilerConfig(with_stack=True))
    with interrupted(monkeypatch, _native, "discard_session", True):
        session.discard()
    session.discard()
    assert nothing_is_on()


def test_a_post_process_is_called_though_the_stop_before_was_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[list[str]] = []
    kg.enable_profiler(post_process=lambda trace: seen.append(names(trace)))
    kg.mark("recorded")
    with interrupted(monkeypatch, Session, "_join_kernels", False):
        kg.disable_profiler()
    kg.disable_profiler()
    assert seen == [["recorded"]]


def test_a_cycle_that_never_began_is_handed_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    traces = Traces()
    prof = kg.profile(schedule=kg.schedule(wait=0, warmup=1, active=1), on_trace_ready=traces)
    prof.start()
    with interrupted(monkeypatch, Cycle, "start", False):
        prof.step()
    prof.stop()
    assert traces.steps == []


def test_a_trace_of_the_low_level_is_there_for_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    kg.enable_profiler()
    kg.mark("recorded")
    with interrupted(monkeypatch, _native, "stop_session", True):
        kg.disable_profiler()
    assert names(kg.disable_profiler().trace) == ["recorded"]
    assert nothing_is_on()


def test_an_observer_goes_on_with_a_cycle_that_does(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    class Observer:
        def __getattr__(self, name: str) -> Any:
            return lambda *_args: told.append(name)

    with kg.profile(execution_trace_observer=Observer()) as prof:
        with interrupted(monkeypatch, Session, "_look_around", False):
            prof.stop()
        told.append("goes on")
    assert told[told.index("goes on") - 2 :][:3] == ["stop", "start", "goes on"]


@pytest.mark.filterwarnings("ignore:the device's collector stopped early")
def test_a_device_that_stopped_in_a_warm_up_costs_no_later_step(monkeypatch: pytest.MonkeyPatch) -> None:
    traces = Traces()
    schedule = kg.schedule(wait=0, warmup=2, active=2)
    with kg.profile(schedule=schedule, on_trace_ready=traces) as prof:
        with pytest.MonkeyPatch.context() as device:
            device.setattr(kg.profile, "_device_has_stopped", lambda self: True)
            with interrupted(monkeypatch, Session, "_look_around", False):
                prof.step()
        for _ in range(3):
            prof.step()
    assert len(traces.steps) == 1


def test_a_signal_in_the_midst_of_building_a_trace_loses_nothing() -> None:
    """A real one, while the native side works: it is seen when that returns."""
    traces: list[kg.Trace] = []
    before = signal.signal(signal.SIGUSR2, signal.default_int_handler)
    try:
        for delay in itertools.chain([0.0] * 3, (0.002 * n for n in range(1, 8))):
            traces.clear()
            interrupt = threading.Timer(delay, signal.raise_signal, [signal.SIGUSR2])
            with pytest.raises(KeyboardInterrupt):
                record_until(interrupt, lambda prof: traces.append(prof.trace))
            assert [len(trace) for trace in traces] == [100_000]
    finally:
        signal.signal(signal.SIGUSR2, before)


def record_until(interrupt: threading.Timer, handler: Callable[[kg.profile], None]) -> None:
    with kg.profile(on_trace_ready=handler):
        for _ in range(100_000):
            kg.mark("recorded")
        interrupt.start()
    interrupt.join()

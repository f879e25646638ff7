"""`enable_profiler` and `disable_profiler`, their options, and child threads that take part."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kinetograph as kg
from kinetograph import _native
from kinetograph.errors import KinetographError, NotAvailable
from kinetograph.session import exits
from kinetograph.session.recording import Session
from recorded import names, notes


def in_thread(function: Callable[[], Any]) -> Any:
    """What `function` gives, or raises, in a thread of its own."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(function())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run, name="child")
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def one_of_each_kind() -> None:
    for kind in kg.RecordScope:
        with kg.scope(kind.name, kind=kind):
            pass


# The pair


def test_the_pair_records_a_window_of_the_calling_thread() -> None:
    kg.mark("before")
    kg.enable_profiler(kg.ProfilerConfig(), {kg.ActivityType.CPU})
    kg.mark("within")
    result = kg.disable_profiler()
    kg.mark("after")
    assert names(result.trace) == ["within"]


def test_disabling_what_was_never_enabled_says_so() -> None:
    with pytest.raises(KinetographError, match="no session runs, so MainThread has none to end"):
        kg.disable_profiler()


def test_nested_sessions_end_innermost_first() -> None:
    kg.enable_profiler()
    kg.mark("outer's")
    kg.enable_profiler()
    kg.mark("both's")
    assert names(kg.disable_profiler().trace) == ["both's"]
    assert names(kg.disable_profiler().trace) == ["outer's", "both's"]


def test_each_thread_ends_its_own() -> None:
    kg.enable_profiler()

    def own_session() -> list[str]:
        kg.enable_profiler()
        kg.mark("child's")
        return names(kg.disable_profiler().trace)

    assert in_thread(own_session) == ["child's"]
    kg.mark("main's")
    assert names(kg.disable_profiler().trace) == ["main's"]


def test_all_threads_are_recorded_when_asked_for_in_either_way() -> None:
    experimental = kg.ExperimentalConfig(profile_all_threads=True)
    for options in (
        {"all_threads": True},
        {"config": kg.ProfilerConfig(experimental_config=experimental)},
    ):
        kg.enable_profiler(**options)
        in_thread(lambda: kg.mark("elsewhere"))
        assert names(kg.disable_profiler().trace) == ["elsewhere"]


# States and activities


HERE = (kg.ProfilerState.CPU, kg.ProfilerState.KINETO, kg.ProfilerState.KINETO_ONDEMAND)
NOT_RECORDING = (kg.ProfilerState.DISABLED, kg.ProfilerState.NVTX, kg.ProfilerState.ITT)


@pytest.mark.parametrize("state", HERE)
def test_states_that_are_here_record(state: kg.ProfilerState) -> None:
    kg.enable_profiler(kg.ProfilerConfig(state))
    kg.mark("recorded")
    assert names(kg.disable_profiler().trace) == ["recorded"]


@pytest.mark.parametrize("state", [state for state in kg.ProfilerState if state not in HERE + NOT_RECORDING])
def test_states_that_are_not_here_raise_and_leave_nothing_running(state: kg.ProfilerState) -> None:
    with pytest.raises(NotAvailable, match=rf"ProfilerState\.{state.name} is not available here"):
        kg.enable_profiler(kg.ProfilerConfig(state))
    assert not _native.is_recording()


def test_the_disabled_state_cannot_be_enabled() -> None:
    with pytest.raises(KinetographError, match="nothing to start"):
        kg.enable_profiler(kg.ProfilerConfig(kg.ProfilerState.DISABLED))


def test_an_activity_that_is_not_here_raises_and_leaves_nothing_running() -> None:
    with pytest.raises(NotAvailable, match=r"ActivityType\.MTIA is not available here"):
        kg.enable_profiler(activities={kg.ActivityType.MTIA})
    assert not _native.is_recording()


# The scope filter


def test_without_a_filter_every_kind_is_kept() -> None:
    kg.enable_profiler()
    one_of_each_kind()
    assert names(kg.disable_profiler().trace) == [kind.name for kind in kg.RecordScope]


@pytest.mark.parametrize(
    "kinds",
    [
        [kg.RecordScope.FUNCTION],
        [kg.RecordScope.USER_SCOPE, "backward_function"],
        list(kg.RecordScope),
    ],
)
def test_a_filter_keeps_only_its_kinds(kinds: list[Any]) -> None:
    kg.enable_profiler(scopes=kinds)
    one_of_each_kind()
    wanted = {kind if isinstance(kind, str) else kind.name.lower() for kind in kinds}
    assert {name.lower() for name in names(kg.disable_profiler().trace)} == wanted


def test_a_filter_applies_to_scopes_that_are_still_open_too() -> None:
    kg.enable_profiler(scopes=["function"])
    with kg.scope("kept", kind="function"), kg.scope("left out"):
        trace = kg.disable_profiler().trace
    assert names(trace) == ["kept"]


def test_overlapping_sessions_filter_each_for_itself() -> None:
    kg.enable_profiler(scopes=["function"])
    kg.enable_profiler(scopes=["user_scope"])
    one_of_each_kind()
    assert names(kg.disable_profiler().trace) == ["USER_SCOPE"]
    assert names(kg.disable_profiler().trace) == ["FUNCTION"]


def test_a_filter_of_something_else_is_refused() -> None:
    with pytest.raises(KinetographError, match="scopes: expected a member of RecordScope, got 'nothing'"):
        kg.enable_profiler(scopes=["nothing"])
    assert not _native.is_recording()


# Post-processing


def test_post_process_is_called_once_with_the_trace_and_may_enrich_it(tmp_path: Path) -> None:
    calls: list[kg.Trace] = []

    def enrich(trace: kg.Trace) -> None:
        calls.append(trace)
        for event in trace.events:
            trace.native.set_args(event.row, '"team":"red","note":"ü"')
        trace.add_note("mine", "enriched")
        trace.metadata["owner"] = {"name": "me"}

    kg.enable_profiler(post_process=enrich)
    with kg.scope("work", step=1):
        pass
    result = kg.disable_profiler()
    assert calls == [result.trace]
    result.save(tmp_path / "trace.json")
    (event,) = kg.load(tmp_path / "trace.json").events
    assert (event.args["team"], event.args["note"]) == ("red", "ü")
    assert notes(result.trace, "mine") == ["enriched"]
    assert json.loads((tmp_path / "trace.json").read_text())["owner"] == {"name": "me"}


def test_a_post_process_that_raises_is_told_and_costs_nothing_recorded() -> None:
    def fail(_trace: kg.Trace) -> None:
        raise LookupError("mine")

    kg.enable_profiler(post_process=fail)
    kg.mark("kept")
    with pytest.warns(RuntimeWarning, match="fail raised LookupError") as warned:
        trace = kg.disable_profiler().trace
    assert warned[0].filename == __file__
    assert names(trace) == ["kept"]
    assert [note.kind for note in trace.notes if "LookupError('mine')" in note.text] == ["post_process"]
    assert not _native.is_recording()
    kg.enable_profiler()
    kg.mark("again")
    assert names(kg.disable_profiler().trace) == ["again"]


def test_a_post_process_may_start_a_session_of_its_own() -> None:
    inner: list[list[str]] = []

    def record(_trace: kg.Trace) -> None:
        kg.enable_profiler()
        kg.mark("inner")
        inner.append(names(kg.disable_profiler().trace))

    kg.enable_profiler(post_process=record)
    kg.disable_profiler()
    assert inner == [["inner"]]


# What the trace says of its session


def test_options_stand_in_the_metadata() -> None:
    kg.enable_profiler(kg.ProfilerConfig(report_input_shapes=True, profile_memory=True, trace_id="mine"))
    trace = kg.disable_profiler().trace
    assert trace.metadata["trace_id"] == "mine"
    assert (trace.metadata["record_shapes"], trace.metadata["profile_memory"]) == (1, 1)
    assert "with_stack" not in trace.metadata
    assert "only what report_memory_usage tells" in notes(trace, "partial")[0]


def test_every_trace_has_an_id_of_its_own() -> None:
    ids = set()
    for _ in range(3):
        kg.enable_profiler()
        ids.add(kg.disable_profiler().trace.metadata["trace_id"])
    assert len(ids) == 3


def test_notes_tell_the_clock_and_the_cost() -> None:
    kg.enable_profiler()
    kg.mark("x")
    trace = kg.disable_profiler().trace
    assert [note.kind for note in trace.notes] == ["clock", "cost"]
    assert "1 events at " in notes(trace, "cost")[0]


# Child threads


def test_a_child_thread_may_take_part_in_the_session_of_the_main_thread() -> None:
    assert not kg.is_profiler_enabled_in_main_thread()
    kg.enable_profiler()

    def child() -> bool:
        kg.mark("before")
        kg.enable_profiler_in_child_thread()
        kg.mark("within")
        kg.disable_profiler_in_child_thread()
        kg.mark("after")
        return kg.is_profiler_enabled_in_main_thread()

    assert in_thread(child)
    assert names(kg.disable_profiler().trace) == ["within"]
    assert not kg.is_profiler_enabled_in_main_thread()


def test_a_child_thread_may_join_again() -> None:
    kg.enable_profiler()

    def child() -> None:
        for turn in range(3):
            kg.enable_profiler_in_child_thread()
            with kg.scope(f"turn {turn}"):
                pass
            kg.disable_profiler_in_child_thread()
            kg.mark("between")

    in_thread(child)
    assert names(kg.disable_profiler().trace) == ["turn 0", "turn 1", "turn 2"]


def test_a_child_thread_that_ends_without_leaving_is_kept() -> None:
    kg.enable_profiler()
    in_thread(lambda: (kg.enable_profiler_in_child_thread(), kg.mark("child's")))
    assert names(kg.disable_profiler().trace) == ["child's"]


def test_a_scope_across_the_leaving_is_cut_there() -> None:
    kg.enable_profiler()

    def child() -> None:
        kg.enable_profiler_in_child_thread()
        with kg.scope("across"):
            kg.disable_profiler_in_child_thread()

    in_thread(child)
    (event,) = kg.disable_profiler().events
    assert (event.name, event.finished) == ("across", False)


def test_joining_without_a_session_in_the_main_thread_is_an_error() -> None:
    with pytest.raises(KinetographError, match="the main thread has no session to take part in"):
        in_thread(kg.enable_profiler_in_child_thread)


def test_leaving_without_having_joined_is_an_error() -> None:
    kg.enable_profiler()
    with pytest.raises(KinetographError, match="this thread takes part in no session"):
        in_thread(kg.disable_profiler_in_child_thread)
    kg.disable_profiler()


def test_a_session_that_stopped_while_a_child_took_part_leaves_nothing_behind() -> None:
    kg.enable_profiler()
    joined, stopped = threading.Event(), threading.Event()
    errors = []

    def child() -> None:
        kg.enable_profiler_in_child_thread()
        joined.set()
        stopped.wait()
        kg.mark("too late")
        try:
            kg.disable_profiler_in_child_thread()
        except KinetographError as error:
            errors.append(str(error))

    thread = threading.Thread(target=child)
    thread.start()
    joined.wait()
    trace = kg.disable_profiler().trace
    stopped.set()
    thread.join()
    assert names(trace) == []
    assert "takes part in no session" in errors[0]


def test_scopes_of_threads_that_take_no_part_are_counted_in_a_note() -> None:
    def work() -> None:
        for _ in range(10):
            with kg.scope("elsewhere"):
                pass

    kg.enable_profiler()
    in_thread(work)
    trace = kg.disable_profiler().trace
    assert len(trace) == 0
    assert [note.text.split(":")[0] for note in trace.notes if note.kind == "threads"] == [
        "10 scopes of other threads were not recorded"
    ]


def test_a_thread_that_joined_and_ended_keeps_its_name() -> None:
    def work() -> None:
        kg.enable_profiler_in_child_thread()
        with kg.scope("short"):
            pass

    kg.enable_profiler()
    thread = threading.Thread(target=work, name="kid")
    thread.start()
    thread.join()
    (track,) = kg.disable_profiler().trace.tracks
    assert track.name.endswith("(kid)")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"config": kg.ProfilerState.KINETO}, "config: expected ProfilerConfig, got <ProfilerState.KINETO"),
        ({"config": {}}, "config: expected ProfilerConfig, got {}"),
        ({"all_threads": 3}, "all_threads: expected True or False, got 3"),
        ({"scopes": None}, "scopes: expected a set or list of RecordScope, got None"),
        ({"scopes": kg.RecordScope.USER_SCOPE}, "scopes: expected a set or list of RecordScope"),
        ({"scopes": "USER_SCOPE"}, "scopes: expected a set or list of RecordScope, got 'USER_SCOPE'"),
        ({"post_process": 3}, "post_process: expected a function, got 3"),
    ],
)
def test_a_wrong_option_is_told_before_anything_starts(options: dict[str, Any], message: str) -> None:
    with pytest.raises(KinetographError) as caught:
        kg.enable_profiler(**options)
    assert message in str(caught.value)
    assert caught.value.hint
    assert not _native.is_recording()


def test_a_session_whose_thread_is_gone_can_be_ended_by_another() -> None:
    in_thread(kg.enable_profiler)
    assert names(kg.disable_profiler().trace) == []
    with pytest.raises(KinetographError, match="no session runs"):
        kg.disable_profiler()


def test_two_threads_that_end_sessions_of_gone_threads_end_one_each(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("first", "second"):
        in_thread(lambda name=name: (kg.enable_profiler(), kg.mark(name)))
    finish, meanwhile = Session.finish, list[list[str]]()

    def with_another_in_the_middle(session: Session) -> kg.Trace:
        monkeypatch.undo()
        meanwhile.append(names(in_thread(kg.disable_profiler).trace))
        return finish(session)

    monkeypatch.setattr(Session, "finish", with_another_in_the_middle)
    assert [names(kg.disable_profiler().trace), *meanwhile] == [["second"], ["first"]]
    assert not _native.sessions()


SIGNALS = """
import signal, faulthandler
import numpy  # not for the first time in a signal handler, where the main program may be in the midst of it
import kinetograph as kg

faulthandler.dump_traceback_later(20, exit=True)
handled = []

def profile_now(*_):
    kg.enable_profiler()
    kg.mark("now")
    handled.append(sum(event.name == "now" for event in kg.disable_profiler().events))
    signal.setitimer(signal.ITIMER_REAL, 0.0005)  # once again, and not inside this handler

kg.enable_profiler()
kg.disable_profiler()
signal.signal(signal.SIGALRM, profile_now)
signal.setitimer(signal.ITIMER_REAL, 0.0005)
while len(handled) < 1000:
    kg.enable_profiler()
    with kg.scope("main", step=1):
        pass
    events = [event.name for event in kg.disable_profiler().events]
    assert events.count("main") == 1, events
signal.signal(signal.SIGALRM, signal.SIG_IGN)  # a handler that is due may set the timer once more
print(set(handled))
"""


def test_a_signal_handler_may_profile_while_the_program_starts_and_stops_sessions() -> None:
    done = subprocess.run([sys.executable, "-c", SIGNALS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "{1}\n"), done.stderr


def test_a_session_that_was_forgotten_is_told_by_the_next_one() -> None:
    kg.enable_profiler()
    kg.enable_profiler()  # the cell of a notebook, run twice
    first, second = kg.disable_profiler().trace, kg.disable_profiler().trace
    (text,) = notes(first, "nested")
    assert re.match(r"another session of this thread, started at \d\d:\d\d:\d\d, still runs", text)
    assert notes(second, "nested") == []


def test_a_session_of_another_thread_is_no_news() -> None:
    kg.enable_profiler()

    def work() -> kg.Trace:
        kg.enable_profiler()
        return kg.disable_profiler().trace

    inner = in_thread(work)
    kg.disable_profiler()
    assert notes(inner, "nested") == []


def test_a_session_inside_another_takes_neither_its_limits_nor_its_names() -> None:
    small = kg.RecordOptions(memory_limit_bytes=16 << 20, at_limit="drop")
    kg.enable_profiler(kg.ProfilerConfig(recording=small))
    kg.enable_profiler()
    kg.disable_profiler()
    for _ in range(600_000):
        with kg.scope("x"):
            pass
    trace = kg.disable_profiler().trace
    assert len(trace) < 600_000
    assert any(note.kind == "dropped" for note in trace.notes)


def test_the_main_thread_of_a_forked_child_is_known() -> None:
    child = os.fork()
    if child == 0:
        kg.enable_profiler()
        os._exit(0 if kg.is_profiler_enabled_in_main_thread() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# Parts of threads


def record_as_a_library() -> None:
    kg.enable_profiler_in_child_thread()
    with kg.scope("library"):
        pass
    kg.disable_profiler_in_child_thread()


def test_a_part_taken_within_the_own_session_ends_without_ending_it() -> None:
    kg.enable_profiler()
    record_as_a_library()
    with kg.scope("after"):
        pass
    assert names(kg.disable_profiler().trace) == ["library", "after"]


def test_a_part_taken_twice_ends_with_the_second_leaving() -> None:
    def child() -> None:
        kg.enable_profiler_in_child_thread()
        record_as_a_library()
        kg.mark("still there")
        kg.disable_profiler_in_child_thread()
        kg.mark("gone")

    kg.enable_profiler()
    in_thread(child)
    assert names(kg.disable_profiler().trace) == ["library", "still there"]


def test_a_post_process_that_ends_the_program_leaves_the_trace_for_its_end(tmp_path: Path) -> None:
    def interrupt(_trace: kg.Trace) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "trace.json"
    config = kg.ProfilerConfig(recording=kg.RecordOptions(path=str(path)))
    kg.enable_profiler(config, post_process=interrupt)
    kg.mark("precious")
    with pytest.raises(KeyboardInterrupt):
        kg.disable_profiler()
    exits._write_all()
    trace = kg.load(path)
    assert names(trace) == ["precious"]
    assert any("KeyboardInterrupt" in text for text in notes(trace, "post_process"))
    with pytest.raises(kg.StateError, match="no session"):
        kg.disable_profiler()


def test_a_stop_that_was_interrupted_may_be_made_again() -> None:
    def interrupt(_trace: kg.Trace) -> None:
        raise KeyboardInterrupt

    kg.enable_profiler(post_process=interrupt)
    kg.mark("precious")
    with pytest.raises(KeyboardInterrupt):
        kg.disable_profiler()
    assert names(kg.disable_profiler().trace) == ["precious"]

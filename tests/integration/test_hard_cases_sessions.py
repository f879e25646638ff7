"""Sessions that overlap, nest, end elsewhere, and come by the hundred thousand."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hard_cases import ONE_ARENA, run_program
from hypothesis import given, settings
from hypothesis import strategies as st

import kinetograph as kg
from kinetograph import _native
from kinetograph.errors import KinetographError
from recorded import by_name, names, notes, recording, start


@pytest.mark.slow
def test_a_hundred_thousand_sessions_leave_memory_flat() -> None:
    told = run_program("many_sessions", 100_000, "{}", **ONE_ARENA)
    assert told["events"] == 200_000
    assert told["growth"] < 2 << 20
    assert told["descriptors"] == 0
    assert told["memory"] <= 1 << 20
    assert told["strings"] < 100


def test_sessions_with_files_leave_neither_memory_nor_descriptors_nor_files(tmp_path: Path) -> None:
    options = f'{{"crash_safe": true, "directory": "{tmp_path}"}}'
    told = run_program("many_sessions", 500, options, **ONE_ARENA)
    assert told["events"] == 1_000
    assert told["growth"] < 2 << 20
    assert told["descriptors"] == 0
    assert list(tmp_path.iterdir()) == []


def test_nested_sessions_each_get_their_window() -> None:
    with recording() as outer:
        kg.mark("before")
        with recording() as inner:
            kg.mark("within")
        kg.mark("after")
    assert names(inner.trace) == ["within"]
    assert names(outer.trace) == ["before", "within", "after"]


def test_overlapping_windows_each_get_exactly_their_events() -> None:
    kg.mark("nobody's")
    first = start()
    kg.mark("first's")
    second = start()
    kg.mark("both's")
    assert names(first.stop()) == ["first's", "both's"]
    kg.mark("second's")
    assert names(second.stop()) == ["both's", "second's"]


def test_a_scope_across_the_edges_of_a_window_is_cut_there() -> None:
    first = start()
    with kg.scope("across"):
        second = start()
        kg.mark("both's")
        first_trace = first.stop()
        kg.mark("second's")
    second_trace = second.stop()
    in_first, in_second = by_name(first_trace)["across"], by_name(second_trace)["across"]
    assert not in_first.finished
    assert in_first.end_ns == first_trace.end_ns
    assert in_second.finished
    assert in_second.start_ns == second_trace.start_ns
    assert by_name(second_trace)["second's"].parent == in_second
    assert notes(second_trace, "unbalanced") == []


# No scope is open at a start or stop here, so a session has exactly those between its start and its stop.
steps = st.lists(st.one_of(st.just("start"), st.integers(0, 3).map(lambda i: ("stop", i)), st.just("scope")))


@settings(max_examples=200, deadline=None)
@given(steps)
def test_any_order_of_starts_and_stops_gives_each_session_its_own_events(steps: list[object]) -> None:
    running: list[tuple[object, list[str]]] = []
    finished = []
    for number, step in enumerate([*steps, *[("stop", 0)] * len(steps)]):
        if step == "start":
            running.append((start(all_threads=number % 2 == 0), []))
        elif step == "scope":
            with kg.scope(f"scope {number}"):
                pass
            for _session, expected in running:
                expected.append(f"scope {number}")
        elif step[1] < len(running):
            session, expected = running.pop(step[1])
            finished.append((session.stop(), expected))
    for trace, expected in finished:
        assert names(trace) == expected
        assert {note.kind for note in trace.notes} == {"clock", "cost"}


def test_sessions_of_different_threads_do_not_see_each_other() -> None:
    both_run = threading.Barrier(2)
    results: dict[str, list[str]] = {}

    def work(name: str) -> None:
        kg.enable_profiler()
        both_run.wait()
        for _ in range(1000):
            with kg.scope(name):
                pass
        both_run.wait()
        results[name] = names(kg.disable_profiler().trace)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {"one": ["one"] * 1000, "two": ["two"] * 1000}


def test_a_session_stops_in_any_thread() -> None:
    session, traces = start(all_threads=False), []
    kg.mark("owner's")
    thread = threading.Thread(target=lambda: traces.append(session.stop()))
    thread.start()
    thread.join()
    assert names(traces[0]) == ["owner's"]
    assert not session.is_running


def test_disable_profiler_in_a_foreign_thread_raises_and_names_the_owner() -> None:
    kg.enable_profiler(all_threads=True)
    errors = []

    def work() -> None:
        with pytest.raises(KinetographError) as caught:
            kg.disable_profiler()
        errors.append(str(caught.value))

    thread = threading.Thread(target=work, name="stranger")
    thread.start()
    thread.join()
    assert f"{threading.current_thread().name} (thread {threading.get_native_id()})" in errors[0]
    assert errors[0].startswith("stranger has started no session")
    kg.mark("still recording")
    assert names(kg.disable_profiler().trace) == ["still recording"]


def test_a_session_stopped_by_two_threads_at_once_gives_its_trace_to_one() -> None:
    for _ in range(50):
        session, barrier, outcomes = start(), threading.Barrier(2), []
        kg.mark("once")

        def stop(session=session, barrier=barrier, outcomes=outcomes) -> None:
            barrier.wait()
            try:
                outcomes.append(len(session.stop()))
            except KinetographError as error:
                outcomes.append(str(error).splitlines()[0])

        threads = [threading.Thread(target=stop) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes, key=str) == [1, "this session has been stopped already"]


def test_a_session_whose_owner_ended_can_still_be_stopped() -> None:
    sessions = []
    thread = threading.Thread(
        target=lambda: (sessions.append(start(all_threads=False)), kg.mark("last words"))
    )
    thread.start()
    thread.join()
    assert names(sessions[0].stop()) == ["last words"]


def test_one_thread_may_hold_sessions_of_one_thread_and_of_all() -> None:
    everywhere, here = start(all_threads=True), start(all_threads=False)
    thread = threading.Thread(target=kg.mark, args=("elsewhere",))
    thread.start()
    thread.join()
    kg.mark("here")
    assert names(here.stop()) == ["here"]
    assert sorted(names(everywhere.stop())) == ["elsewhere", "here"]


def test_two_crash_safe_sessions_in_one_directory_share_a_file(tmp_path: Path) -> None:
    first = start(crash_safe=True, directory=tmp_path)
    kg.mark("first's")
    second = start(crash_safe=True, directory=tmp_path)
    kg.mark("both's")
    assert len(list(tmp_path.glob("*.kgsession"))) == 1
    assert names(first.stop()) == ["first's", "both's"]
    kg.mark("second's")
    assert len(list(tmp_path.glob("*.kgsession"))) == 1
    assert names(second.stop()) == ["both's", "second's"]
    assert list(tmp_path.glob("*.kgsession")) == []


def test_a_second_crash_safe_directory_is_refused_and_leaves_the_first_recording(tmp_path: Path) -> None:
    first = start(crash_safe=True, directory=tmp_path / "a")
    with pytest.raises(KinetographError, match="already records to"):
        start(crash_safe=True, directory=tmp_path / "b")
    kg.mark("still recording")
    assert names(first.stop()) == ["still recording"]


@pytest.mark.parametrize("crash_safe_first", [True, False])
def test_sessions_with_and_without_a_file_may_overlap(tmp_path: Path, crash_safe_first: bool) -> None:
    kinds = [{"crash_safe": True, "directory": tmp_path}, {}]
    first = start(**kinds[0 if crash_safe_first else 1])
    with kg.scope("across"):
        kg.mark("first's")
        second = start(**kinds[1 if crash_safe_first else 0])
        kg.mark("both's")
    assert names(first.stop()) == ["across", "first's", "both's"]
    kg.mark("second's")
    assert names(second.stop()) == ["across", "both's", "second's"]
    assert _native.sessions() == []


def test_a_directory_that_cannot_be_used_is_an_error_and_nothing_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KinetographError, match="directory: there is no folder"):
        start(crash_safe=True, directory=tmp_path / "file" / "below")
    assert not _native.is_recording()

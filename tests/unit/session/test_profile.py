"""`kg.profile`: its life, its cycles, and what becomes of mistakes."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kinetograph as kg
from kinetograph import _native
from kinetograph.session import kineto_profile
from recorded import by_name, names, notes
from stepped import EVERY_STEP, Traces, stepped

pytestmark = pytest.mark.filterwarnings("ignore:Profiler clears events")


# ---- one window


def test_what_runs_in_the_block_is_recorded_on_all_threads() -> None:
    with kg.profile() as prof:
        with kg.scope("here"):
            pass
        worker = threading.Thread(target=lambda: kg.mark("there"))
        worker.start()
        worker.join()
    kg.mark("after")
    assert sorted(names(prof.trace)) == ["here", "there"]


def test_only_the_thread_that_starts_it_is_recorded_if_told_so() -> None:
    with kg.profile(all_threads=False) as prof:
        worker = threading.Thread(target=lambda: kg.mark("there"))
        worker.start()
        worker.join()
        kg.mark("here")
    assert names(prof.trace) == ["here"]


def test_without_a_schedule_steps_are_counted_but_not_marked() -> None:
    traces = Traces()
    prof = stepped(3, traces)
    assert (prof.step_num, prof.current_action) == (3, kg.ProfilerAction.RECORD)
    assert traces.steps == [3]
    assert traces.names == [["work 0", "work 1", "work 2"]]


def test_it_can_be_started_again_and_reports_the_last_trace() -> None:
    prof = kg.profile()
    for name in ("first", "second"):
        prof.start()
        kg.mark(name)
        prof.stop()
    assert names(prof.trace) == ["second"]


def test_the_ring_mode_is_one_word_away() -> None:
    with kg.profile(mode="ring", ring_seconds=10) as prof:
        kg.mark("kept")
    assert prof.recording == kg.RecordOptions(mode="ring", ring_seconds=10)
    assert names(prof.trace) == ["kept"]


def test_record_options_are_taken_whole() -> None:
    options = kg.RecordOptions(memory_limit_bytes=1 << 26)
    assert kg.profile(recording=options, mode="ring").recording == options.replace(mode="ring")


# ---- wrong order


def test_a_profile_that_never_started_cannot_be_stopped() -> None:
    # PyTorch asserts it.
    with pytest.raises(AssertionError, match="never started") as caught:
        kg.profile().stop()
    assert isinstance(caught.value, kg.StateError)


def test_steps_of_a_profile_that_never_started_are_told_of_and_do_nothing() -> None:
    prof = kg.profile(schedule=kg.schedule(**EVERY_STEP))
    with pytest.warns(UserWarning, match="never started") as caught:
        prof.step()
    assert caught[0].filename == __file__
    assert (prof.step_num, prof.profiler) == (0, None)


def test_the_low_level_profile_starts_and_stops_as_pytorchs() -> None:
    prof = kg._KinetoProfile(activities={kg.ProfilerActivity.CPU})
    prof.start()
    kg.mark("here")
    prof.stop()
    assert [event.name for event in prof.events()] == ["here"]
    with pytest.raises(kg.StateError, match="no trace"):
        prof.stop()


def test_starting_twice_is_an_error_and_leaves_the_first() -> None:
    with kg.profile() as prof:
        with pytest.raises(kg.KinetographError, match="started already"):
            prof.start()
        kg.mark("recorded")
    assert names(prof.trace) == ["recorded"]


def test_after_stop_further_stops_and_steps_do_nothing() -> None:
    traces = Traces()
    with kg.profile(on_trace_ready=traces) as prof:
        prof.stop()
        prof.step()
        prof.stop()
    assert (traces.steps, prof.step_num) == ([0], 0)


@pytest.mark.parametrize(
    "ask", [lambda p: p.trace, lambda p: p.events(), lambda p: p.export_chrome_trace("x.json")]
)
def test_asking_before_there_is_a_trace_is_an_error(ask: Callable[[kg.profile], object]) -> None:
    with pytest.raises(kg.KinetographError, match="no trace yet"):
        ask(kg.profile())


def test_a_start_that_fails_leaves_nothing_running() -> None:
    def refuse() -> str:
        raise ValueError("no id")

    prof = kg.profile(custom_trace_id_callback=refuse)
    with pytest.raises(ValueError, match="no id"):
        prof.start()
    assert not _native.sessions()
    prof.set_custom_trace_id_callback(None)
    with prof:
        pass


# ---- by hand


def test_traces_can_be_prepared_started_and_stopped_by_hand() -> None:
    prof = kg.profile()
    prof.prepare_trace()
    kg.mark("warm-up")
    prof.start_trace()
    kg.mark("recorded")
    prof.stop_trace()
    assert names(prof.trace) == ["recorded"]


def test_starting_without_preparing_prepares() -> None:
    prof = kg.profile()
    prof.start_trace()
    with pytest.raises(kg.KinetographError, match="recorded already"):
        prof.start_trace()
    prof.stop_trace()
    with pytest.raises(kg.KinetographError, match="no trace is being recorded"):
        prof.stop_trace()


# ---- pausing


def test_collection_can_be_switched_off_and_on_within_a_trace() -> None:
    with kg.profile() as prof, kg.scope("around"):
        kg.mark("before")
        prof.toggle_collection_dynamic(False, [kg.ActivityType.CPU])
        kg.mark("meanwhile")
        prof.toggle_collection_dynamic(True, ["CPU"])
        kg.mark("after")
    assert sorted(names(prof.trace)) == ["Recording paused", "Recording resumed", "after", "around", "before"]
    assert by_name(prof.trace)["around"].finished
    assert "paused 1 time" in notes(prof.trace, "paused")[0]


def test_every_cycle_begins_switched_on() -> None:
    traces = Traces()
    with kg.profile(schedule=kg.schedule(**EVERY_STEP), on_trace_ready=traces) as prof:
        prof.step()
        prof.toggle_collection_dynamic(False, {kg.ActivityType.CPU})
        prof.step()
        prof.step()
        kg.mark("recorded")
        prof.step()
    assert "recorded" in traces.names[1]


def test_switching_does_not_start_what_is_warming_up() -> None:
    with kg.profile(schedule=kg.schedule(**EVERY_STEP)) as prof:
        prof.toggle_collection_dynamic(True, [kg.ActivityType.CPU])
        kg.mark("warm-up")
        prof.step()
    assert names(prof.trace) == ["ProfilerStep#1"]


def test_switching_what_is_not_recorded_warns_and_does_nothing() -> None:
    with kg.profile() as prof:
        with pytest.warns(UserWarning, match="CUDA is not recorded"):
            prof.toggle_collection_dynamic(False, [kg.ActivityType.CUDA])
        kg.mark("kept")
    assert names(prof.trace) == ["kept"]


def test_switching_without_a_trace_does_nothing() -> None:
    kg.profile().toggle_collection_dynamic(False, [kg.ActivityType.CPU])


# ---- what is said about a trace


def test_metadata_of_any_text_becomes_correct_json(tmp_path: Path) -> None:
    texts = {'a "quoted"\nkey': 'quotes " and \\ and \u2603', "": "", "lone": "\udc80"}
    with kg.profile() as prof:
        for key, text in texts.items():
            prof.add_metadata(key, text)
    prof.export_chrome_trace(tmp_path / "trace.json")
    written = json.loads((tmp_path / "trace.json").read_text())
    assert {key: written[key] for key in texts} == texts | {"lone": "\\udc80"}


def test_metadata_added_at_any_time_are_in_the_trace() -> None:
    prof = kg.profile()
    prof.preset_metadata_json("preset", '{"a": [1, 2]}')
    prof.preset_metadata_json("replaced", "1")
    prof.add_metadata("before", "1")
    with prof:
        prof.add_metadata_json("replaced", "2")
    prof.add_metadata_json("after", "null")
    told = {key: prof.trace.metadata[key] for key in ("preset", "replaced", "before", "after")}
    assert told == {"preset": {"a": [1, 2]}, "replaced": 2, "before": "1", "after": None}


@pytest.mark.parametrize("text", ["", "{", "'single'", "NaN", "unquoted"])
def test_what_is_no_json_is_refused(text: str) -> None:
    for add in (kg.profile().add_metadata_json, kg.profile().preset_metadata_json):
        with pytest.raises(kg.KinetographError, match="expected JSON"):
            add("key", text)


def test_keys_that_the_file_has_already_are_refused() -> None:
    with pytest.raises(kg.KinetographError, match="traceEvents"):
        kg.profile().add_metadata("traceEvents", "mine")


def test_each_cycle_has_an_id_of_its_own() -> None:
    ids = iter("abc")
    seen: list[tuple[str | None, str]] = []
    prof = kg.profile(
        schedule=kg.schedule(**EVERY_STEP),
        on_trace_ready=lambda p: seen.append((p.get_trace_id(), p.trace.metadata["trace_id"])),
        custom_trace_id_callback=lambda: next(ids),
    )
    assert prof.get_trace_id() is None
    with prof:
        for _ in range(4):
            prof.step()
    assert seen == [("a", "a"), ("b", "b")]


def test_ids_are_made_up_and_differ() -> None:
    ids = {stepped(0).get_trace_id() for _ in range(3)}
    assert len(ids) == 3
    assert all(trace_id and len(trace_id) == 32 for trace_id in ids)


def test_an_id_must_be_text() -> None:
    with pytest.raises(kg.KinetographError, match="custom_trace_id_callback"):
        kg.profile(custom_trace_id_callback=lambda: 7).start()  # type: ignore[arg-type,return-value]


def test_what_names_traces_is_refused_under_the_name_of_the_option() -> None:
    with pytest.raises(kg.ArgumentError, match=r"^custom_trace_id_callback: expected a function, got 'abc'"):
        kg.profile(custom_trace_id_callback="abc")  # type: ignore[arg-type]


# ---- files and events


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz", "w.1.pt.trace.json", "trace", "trace.txt"])
def test_a_trace_is_written_as_often_as_asked_and_whatever_its_name(tmp_path: Path, name: str) -> None:
    prof = stepped(1)
    for _ in range(2):
        prof.export_chrome_trace(str(tmp_path / name), use_python_export=True)
    assert names(kg.load(tmp_path / name)) == ["work 0"]


def test_the_memory_timeline_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(kg.NotAvailable, match="export_memory_timeline"):
        stepped(0).export_memory_timeline(str(tmp_path / "memory.html"))


def test_events_are_those_of_the_last_cycle_and_that_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kineto_profile.KinetoProfile, "_has_warned", False)
    with pytest.warns(UserWarning, match="clears events at the end of each cycle") as caught:
        prof = stepped(6, schedule=kg.schedule(**EVERY_STEP))
    assert len(caught) == 1
    assert caught[0].filename == stepped.__code__.co_filename
    assert [event.name for event in prof.events()] == ["ProfilerStep#5", "work 5"]


def test_events_of_all_cycles_can_be_kept(tmp_path: Path) -> None:
    prof = stepped(4, schedule=kg.schedule(**EVERY_STEP), acc_events=True)
    assert [event.name for event in prof.events()] == ["ProfilerStep#1", "work 1", "ProfilerStep#3", "work 3"]
    prof.export_chrome_trace(tmp_path / "last.json")
    assert names(kg.load(tmp_path / "last.json")) == ["ProfilerStep#3", "work 3"]


def test_kept_events_keep_their_place_and_arguments() -> None:
    def work() -> None:
        with kg.scope("in a thread", size=3):
            pass

    with kg.profile(schedule=kg.schedule(**EVERY_STEP), acc_events=True) as prof:
        for _ in range(4):
            worker = threading.Thread(target=work, name="worker")
            worker.start()
            worker.join()
            prof.step()
    found = [event for event in prof.events() if event.name == "in a thread"]
    assert [event.args["size"] for event in found] == [3, 3]
    assert all("worker" in event.track.name for event in found)


def test_cycles_are_joined_on_their_threads_and_without_looking_at_each_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prof = stepped(4, schedule=kg.schedule(**EVERY_STEP), acc_events=True)
    with monkeypatch.context() as patch:
        patch.setattr(kg.Trace, "events", property(lambda _trace: pytest.fail("looks at events")))
        patch.setattr(kg.Event, "__init__", lambda *_: pytest.fail("makes an event"))
        assert len(prof.key_averages()) == 3
    events = prof.events()
    assert {event.track for event in events} == {prof.trace.events[0].track}
    assert events[0].track.tid == threading.get_native_id()
    assert [event.start_ns for event in events] == sorted(event.start_ns for event in events)
    assert prof.events()[0].trace is events[0].trace


def test_the_profiler_attribute_is_the_cycle() -> None:
    prof = kg.profile()
    assert prof.profiler is None
    with prof:
        kg.mark("here")
        assert prof.profiler is not None
        assert prof.profiler.trace_id == prof.get_trace_id()
        with pytest.raises(kg.KinetographError, match="not been finished"):
            prof.profiler.function_events  # noqa: B018
    assert [event.name for event in prof.profiler.function_events] == ["here"]


# ---- options


def test_an_option_of_a_later_part_says_what_is_missing() -> None:
    with pytest.raises(kg.NotAvailable, match=r"profile_memory is not available here: .* come with"):
        kg.profile(activities=["cpu"], profile_memory=True)


@pytest.mark.parametrize(
    "options",
    [
        {"record_shapes": "yes"},
        {"acc_events": 1},
        {"all_threads": None},
        {"on_trace_ready": "print"},
        {"custom_trace_id_callback": "abc"},
        {"post_processing_timeout_s": 0},
        {"experimental_config": {"verbose": True}},
        {"recording": {"mode": "ring"}},
        {"mode": "loop"},
        {"ring_seconds": 3},
        {"activities": []},
        {"activities": "CPU"},
        {"activities": ["GPU"]},
        {"schedule": abs},
    ],
    ids=str,
)
def test_wrong_options_are_found_when_the_profile_is_made(options: dict[str, Any]) -> None:
    with pytest.raises(kg.KinetographError):
        kg.profile(**options)


def test_devices_asked_for_by_name_are_refused_when_the_profile_is_made() -> None:
    with pytest.raises(kg.NotAvailable, match="CUDA"):
        kg.profile(activities=[kg.ActivityType.CPU, kg.ActivityType.CUDA])


def test_use_cuda_is_deprecated() -> None:
    with pytest.warns(FutureWarning, match="use_cuda") as caught:
        assert kg.profile(use_cuda=False).activities == {kg.ActivityType.CPU}
    assert caught[0].filename == __file__
    with pytest.warns(FutureWarning, match="use_cuda"), pytest.raises(kg.NotAvailable, match="CUDA"):
        kg.profile(use_cuda=True)


def test_only_chosen_types_of_events_are_kept() -> None:
    with kg.profile(activities={kg.ActivityType.CPU: ["USER_ANNOTATION"]}) as prof:
        kg.mark("instant")
        kg.counter("counter", 1)
        with kg.scope("scope"), kg.scope("operator", kind=kg.RecordScope.FUNCTION):
            pass
    assert names(prof.trace) == ["scope"]


def test_shapes_are_recorded_when_asked_for() -> None:
    import numpy as np

    for record_shapes in (True, False):
        with kg.profile(record_shapes=record_shapes) as prof, kg.scope("add", inputs=[np.zeros((2, 3))]):
            pass
        assert by_name(prof.trace)["add"].has_shapes is record_shapes


# ---- several at once


def test_nested_profiles_each_get_their_window() -> None:
    with kg.profile() as outer:
        kg.mark("outer only")
        with kg.profile() as inner:
            kg.mark("both")
    assert names(inner.trace) == ["both"]
    assert names(outer.trace) == ["outer only", "both"]


def test_profiles_in_two_threads_do_not_disturb_each_other() -> None:
    both = threading.Barrier(2, timeout=30)
    found: dict[str, list[str]] = {}

    def run(name: str) -> None:
        with kg.profile(all_threads=False, schedule=kg.schedule(wait=0, warmup=1, active=2)) as prof:
            for step in range(3):
                both.wait()
                kg.mark(f"{name} {step}")
                prof.step()
        found[name] = [event for event in names(prof.trace) if not event.startswith("Profiler")]

    workers = [threading.Thread(target=run, args=(name,)) for name in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == {"a": ["a 1", "a 2"], "b": ["b 1", "b 2"]}


def test_a_profile_may_stop_in_another_thread_than_it_started() -> None:
    traces = Traces()
    prof = kg.profile(schedule=lambda step: "RECORD", on_trace_ready=traces)
    prof.start()
    kg.mark("here")
    worker = threading.Thread(target=prof.stop)
    worker.start()
    worker.join()
    assert traces.names == [["ProfilerStep#0", "here"]]
    assert not by_name(prof.trace)["ProfilerStep#0"].finished
    assert notes(prof.trace, "unbalanced") == []


def test_steps_may_be_made_by_any_thread() -> None:
    traces = Traces()
    prof = kg.profile(schedule=kg.schedule(wait=0, warmup=1, active=2), on_trace_ready=traces)
    prof.start()
    for _ in range(3):
        worker = threading.Thread(target=prof.step)
        worker.start()
        worker.join()
    prof.stop()
    assert traces.steps == [3]
    assert {"ProfilerStep#1", "ProfilerStep#2"} <= set(traces.names[0])


def test_threads_that_stop_at_once_stop_once() -> None:
    def stop() -> None:
        together.wait()
        prof.stop()

    together = threading.Barrier(4, timeout=30)
    traces = Traces()
    prof = kg.profile(on_trace_ready=traces)
    for _ in range(20):
        prof.start()
        workers = [threading.Thread(target=stop) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert len(traces.steps) == 20


# ---- fork


def in_child(work: Callable[[], bool]) -> bool:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def test_a_forked_child_is_not_recorded_and_may_end_the_block() -> None:
    calls: list[int] = []
    prof = kg.profile(
        schedule=kg.schedule(wait=0, warmup=1, active=9), on_trace_ready=lambda p: calls.append(1)
    )

    def goes_on() -> bool:
        prof.step()
        prof.stop()
        return not calls and not _native.sessions()

    with prof:
        prof.step()
        assert in_child(goes_on)
        kg.mark("in the parent")
    assert calls == [1]
    assert "in the parent" in names(prof.trace)


def test_a_forked_child_may_profile_with_the_same_object() -> None:
    prof = kg.profile()

    def profiles() -> bool:
        prof.start()
        kg.mark("in the child")
        prof.stop()
        return names(prof.trace) == ["in the child"]

    with prof:
        assert in_child(profiles)
    assert names(prof.trace) == []


def test_a_fork_while_another_thread_holds_the_profile_leaves_a_usable_one() -> None:
    entered, leave = threading.Event(), threading.Event()

    def ready(prof: kg.profile) -> None:
        entered.set()
        leave.wait(30)

    prof = kg.profile(schedule=lambda step: "RECORD_AND_SAVE", on_trace_ready=ready)
    prof.start()
    stepper = threading.Thread(target=prof.step)
    stepper.start()
    entered.wait(30)
    assert in_child(lambda: prof.step() is None)
    leave.set()
    stepper.join()
    prof.stop()

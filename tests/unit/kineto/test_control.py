"""One trace from prepare to save, and the states between."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest

import kinetograph as kg
from kinetograph import _native, kineto
from kinetograph.errors import KinetographError, NotAvailable
from kinetograph.kineto import ActivityType, TraceWrapper, control
from kinetograph.session.recording import Session

CPU = {kg.ActivityType.CPU}


def start_cpu_trace(**options: str) -> None:
    kineto.prepare_trace(True, CPU, **options)  # type: ignore[arg-type]
    kineto.start_trace()


def stopped_trace() -> kg.Trace:
    trace = kineto.stop_trace().trace
    assert trace is not None
    return trace


def names(trace: kg.Trace | None) -> list[str]:
    assert trace is not None
    return sorted(event.name for event in trace.events)


def test_registering_and_initialising_are_two_steps() -> None:
    assert not kineto.is_profiler_registered()
    kineto.init_profiler_if_registered()
    assert not kineto.is_profiler_initialized()
    kineto.init(cpu_only=True)
    assert kineto.is_profiler_registered()
    assert not kineto.is_profiler_initialized()
    kineto.init_profiler_if_registered()
    assert kineto.is_profiler_initialized()


def test_preparing_registers_and_initialises() -> None:
    kineto.prepare_trace(True, CPU)
    assert kineto.is_profiler_registered()
    assert kineto.is_profiler_initialized()


def test_a_start_that_was_interrupted_leaves_nothing_on(monkeypatch: pytest.MonkeyPatch) -> None:
    kineto.prepare_trace(True, CPU)
    with monkeypatch.context() as patched:
        patched.setattr(control.inbox, "open", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            kineto.start_trace()
    assert not _native.sessions()
    start_cpu_trace()
    stopped_trace()


def test_a_stop_that_was_interrupted_gives_the_trace_at_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    start_cpu_trace()
    with kg.scope("work"):
        pass
    for name in ("_look_around", "_describe"):
        with monkeypatch.context() as patched:
            patched.setattr(Session, name, _interrupted)
            with pytest.raises(KeyboardInterrupt):
                kineto.stop_trace()
    assert names(stopped_trace()) == ["work"]
    with pytest.raises(KinetographError, match="no trace is running"):
        kineto.stop_trace()


def test_a_stop_that_found_no_memory_can_be_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    start_cpu_trace()
    with kg.scope("work"):
        pass
    with monkeypatch.context() as patched:
        patched.setattr(_native, "stop_session", _without_memory)
        with pytest.raises(MemoryError):
            kineto.stop_trace()
    assert names(stopped_trace()) == ["work"]


def _without_memory(*_arguments: object, **_options: object) -> None:
    raise MemoryError


def _interrupted(*_arguments: object) -> None:
    raise KeyboardInterrupt


def test_preparing_forgets_the_ids_this_thread_had_pushed() -> None:
    kineto.push_correlation_id(3)
    kineto.prepare_trace(True, CPU)
    assert kineto.correlation_id() == 0


def test_a_trace_holds_scopes_of_all_threads_and_transferred_activities() -> None:
    start_cpu_trace()
    with kg.scope("here"):
        worker = threading.Thread(target=lambda: kg.scope("there").__enter__().__exit__(None, None, None))
        worker.start()
        worker.join()
    now = time.time_ns()
    cpu_trace = TraceWrapper(now, "mine")
    cpu_trace.add_cpu_activity("handed over", ActivityType.CPU_OP, kineto.kineto_ids(), 1, now, now + 500)
    cpu_trace.transfer_cpu_trace(now + 500)
    assert names(stopped_trace()) == ["handed over", "here", "there"]


def test_transferred_activities_keep_type_place_times_and_metadata() -> None:
    start_cpu_trace()
    now = time.time_ns()
    wrapper = TraceWrapper(now, "mine")
    place = kineto.DeviceAndResource(0, 7)
    kernel = wrapper.add_cpu_activity("gemm", ActivityType.CONCURRENT_KERNEL, place, 42, now, now + 1500)
    kineto.add_metadata(kernel, "registers per thread", "64")
    wrapper.transfer_cpu_trace(now + 2000)
    trace = stopped_trace()
    (event,) = trace.events
    assert (event.name, event.category, event.duration_ns) == ("gemm", "kernel", 1500)
    assert (event.start_ns, event.device_index, event.correlation_id) == (now, 0, 42)
    assert event.device_type is kg.DeviceType.CUDA
    assert event.args["registers per thread"] == 64


def test_a_trace_can_be_saved_twice(tmp_path: Path) -> None:
    start_cpu_trace()
    with kg.scope("once"):
        pass
    wrapper = kineto.stop_trace()
    assert wrapper
    for name in ("a.json", "b.json"):
        wrapper.save(tmp_path / name)
        events = json.loads((tmp_path / name).read_text())["traceEvents"]
        assert [event["name"] for event in events if event.get("cat") == "user_annotation"] == ["once"]


def test_a_wrapper_without_a_trace_is_false_and_cannot_be_saved() -> None:
    empty = kineto.ActivityTraceWrapper()
    assert not empty
    with pytest.raises(KinetographError, match="there is no trace to save"):
        empty.save("nowhere.json")


def test_out_of_order_calls_say_which_call_is_missing() -> None:
    with pytest.raises(KinetographError, match="no trace is prepared\nhint: call prepare_trace first"):
        kineto.start_trace()
    with pytest.raises(KinetographError, match="no trace is running"):
        kineto.stop_trace()
    start_cpu_trace()
    with pytest.raises(KinetographError, match="a trace is running already"):
        kineto.start_trace()
    with pytest.raises(KinetographError, match="a trace is running already"):
        kineto.prepare_trace(True, CPU)
    kineto.stop_trace()
    with pytest.raises(KinetographError, match="no trace is prepared"):
        kineto.start_trace()


def test_devices_are_refused_unless_the_trace_is_for_the_host_only() -> None:
    both = CPU | {kg.ActivityType.CUDA}
    with pytest.raises(NotAvailable, match=r"ActivityType.CUDA is not available here"):
        kineto.prepare_trace(False, both)
    kineto.prepare_trace(True, both)
    kineto.start_trace()
    trace = stopped_trace()
    assert any("CUDA asked for and not recorded" in note.text for note in trace.notes)


def test_a_process_registered_for_the_host_only_stays_so() -> None:
    kineto.init(cpu_only=True)
    kineto.prepare_trace(False, {kg.ActivityType.CUDA})


def test_the_trace_id_and_metadata_stand_in_the_file(tmp_path: Path) -> None:
    start_cpu_trace(trace_id="ABC")
    kineto.add_metadata_json("job", '{"rank": 3}')
    kineto.stop_trace().save(tmp_path / "trace.json")
    written = json.loads((tmp_path / "trace.json").read_text())
    assert written["job"] == {"rank": 3}
    assert written["trace_id"] == "ABC"


def test_metadata_belongs_to_one_trace() -> None:
    start_cpu_trace()
    kineto.add_metadata_json("job", "1")
    first = stopped_trace()
    start_cpu_trace()
    second = stopped_trace()
    assert "job" in first.metadata
    assert "job" not in second.metadata


def test_metadata_before_initialisation_warns_and_is_skipped() -> None:
    with pytest.warns(RuntimeWarning, match="profiler is not initialized: skipping profiling metadata"):
        kineto.add_metadata_json("job", "1")


def test_steps_count_once_registered_and_are_silent_before() -> None:
    kineto.profiler_step()
    assert kineto.step_count() == 0
    kineto.init()
    kineto.profiler_step()
    kineto.profiler_step()
    assert kineto.is_profiler_initialized()
    assert kineto.step_count() == 2


def test_an_invariant_violation_is_logged_and_noted(caplog: pytest.LogCaptureFixture) -> None:
    kineto.log_invariant_violation("never", "seen before init")
    start_cpu_trace()
    kineto.log_invariant_violation("a <= b", "a was 3", profile_id="p1", group_profile_id="g1")
    trace = stopped_trace()
    assert [note.text for note in trace.notes if note.kind == "invariant"] == [
        "a <= b: a was 3 profile=p1 group=g1"
    ]
    assert [record.message for record in caplog.records] == [
        "invariant violated: a <= b: a was 3 profile=p1 group=g1"
    ]


def test_a_thread_that_only_tells_its_name_has_a_row() -> None:
    start_cpu_trace()
    worker = threading.Thread(target=kineto.record_thread_info, name="silent worker")
    worker.start()
    worker.join()
    trace = stopped_trace()
    assert any("silent worker" in track.name for track in trace.tracks)


def test_stopping_from_another_thread_works() -> None:
    start_cpu_trace()
    with kg.scope("x"):
        pass
    stopped: list[kineto.ActivityTraceWrapper] = []
    worker = threading.Thread(target=lambda: stopped.append(kineto.stop_trace()))
    worker.start()
    worker.join()
    assert names(stopped[0].trace) == ["x"]


def test_a_forked_child_starts_clean_and_the_parent_keeps_its_trace() -> None:
    start_cpu_trace()
    child = os.fork()
    if child == 0:
        os._exit(1 if kineto.is_profiler_registered() else 0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with kg.scope("parent goes on"):
        pass
    assert names(stopped_trace()) == ["parent goes on"]


def test_a_prepare_that_fails_leaves_no_earlier_plan_in_place() -> None:
    kineto.prepare_trace(True, CPU)
    with pytest.raises(NotAvailable):
        kineto.prepare_trace(False, {kg.ActivityType.CUDA})
    with pytest.raises(KinetographError, match="no trace is prepared"):
        kineto.start_trace()


@pytest.mark.parametrize(
    ("key", "message"), [(3, "key: expected a string, got 3"), ("traceEvents", "written from the trace")]
)
def test_metadata_keys_are_checked_when_they_come(key: str, message: str) -> None:
    with pytest.raises(KinetographError, match=message):
        kineto.add_metadata_json(key, "1")


def test_a_finished_trace_shows_what_it_is() -> None:
    start_cpu_trace()
    assert repr(kineto.stop_trace()) == "<ActivityTraceWrapper of <Trace of 0 events on 0 tracks>>"


def test_work_of_a_device_at_the_place_of_a_thread_leaves_the_thread_what_it_is() -> None:
    start_cpu_trace()
    with kg.scope("host"):
        wrapper = TraceWrapper(0, "work")
        now = time.time_ns()
        wrapper.add_cpu_activity(
            "kernel", ActivityType.CONCURRENT_KERNEL, kineto.kineto_ids(), 1, now, now + 1
        )
        wrapper.transfer_cpu_trace(now + 1)
    trace = stopped_trace()
    (host,) = (event for event in trace.events if event.name == "host")
    assert host.device_type is kg.DeviceType.CPU
    assert not host.track.process.labels.startswith("GPU")
    assert [note.kind for note in trace.notes if "the place of a thread" in note.text] == ["place"]

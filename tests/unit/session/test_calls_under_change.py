"""Calls that are open while something changes: the sessions, who records the thread, the depth, the hook."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

import kinetograph as kg
from traced_calls import calls_in, recorded, runs_of

HAS_EVAL_FRAME_HOOK = (3, 11, 4) <= sys.version_info < (3, 12)


def tiny() -> None:
    pass


def test_a_call_of_another_thread_that_is_open_when_a_session_starts_is_in_both_traces() -> None:
    is_working, is_over = threading.Event(), threading.Lock()
    is_over.acquire()

    def waits() -> None:
        is_working.set()
        is_over.acquire()

    outer, inner = kg.profile(with_stack=True), kg.profile(with_stack=True)
    outer.start()
    worker = threading.Thread(target=waits)
    worker.start()
    is_working.wait()
    inner.start()
    is_over.release()
    worker.join()
    inner.stop()
    outer.stop()
    (in_outer,) = runs_of(outer.trace, "waits")
    (in_inner,) = runs_of(inner.trace, "waits")
    assert in_outer.finished
    assert in_inner.finished
    assert in_outer.duration_ns > in_inner.duration_ns > 0


def test_a_pause_of_the_collector_beyond_the_depth_limit_changes_nothing_around_it() -> None:
    def outermost() -> None:
        inner()
        tiny()

    def inner() -> None:
        innermost()

    def innermost() -> None:
        gc.collect()

    trace = recorded(lambda: [outermost() for _ in range(3)], max_depth=4)
    assert [calls_in(trace, __file__)[name] for name in ("outermost", "inner", "tiny")] == [3, 3, 3]
    assert all(call.finished for call in runs_of(trace, "outermost"))


def test_calls_end_when_they_return_also_if_a_pause_of_the_collector_is_the_first_event_of_their_thread() -> (
    None
):
    may_go_on, is_waiting = threading.Lock(), threading.Event()
    may_go_on.acquire()
    collect = gc.collect  # no Python call of its own

    def first() -> None:
        is_waiting.set()
        may_go_on.acquire()
        collect()

    def both() -> None:
        first()
        tiny()

    worker = threading.Thread(target=both)
    worker.start()
    is_waiting.wait()

    def let_it_go_on() -> None:
        may_go_on.release()
        worker.join()

    trace = recorded(let_it_go_on)
    (call,) = runs_of(trace, "first")
    (later,) = (event for event in runs_of(trace, "tiny") if event.thread_id == worker.native_id)
    assert call.finished
    assert call.end_ns <= later.start_ns


def test_calls_end_when_they_return_also_after_their_thread_left_and_came_back() -> None:
    def recursive(depth: int) -> None:
        if depth == 0:
            kg.disable_profiler_in_child_thread()
            kg.enable_profiler_in_child_thread()
        else:
            recursive(depth - 1)
        tiny()

    def in_thread() -> None:
        kg.enable_profiler_in_child_thread()
        recursive(3)
        kg.disable_profiler_in_child_thread()

    kg.enable_profiler(kg.ProfilerConfig(with_stack=True), all_threads=False)
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    trace = kg.disable_profiler().trace
    calls = runs_of(trace, "recursive")
    assert len(calls) >= 4
    # Each of them makes one call of tiny after the one inside of it has returned.
    ends = sorted(call.end_ns for call in calls)[-4:]
    begins = sorted(call.start_ns for call in runs_of(trace, "tiny"))
    assert all(begin < end for begin, end in zip(begins, ends, strict=True))
    assert all(end < begin for end, begin in zip(ends, begins[1:], strict=False))
    assert not {"late_ends", "unbalanced"} & {note.kind for note in trace.notes}


def test_importing_greenlet_while_recording_is_an_import_like_any_other() -> None:
    program = (
        "import kinetograph as kg\n"
        "with kg.profile(with_stack=True) as p:\n"
        "    import greenlet\n"
        "assert not [note.text for note in p.trace.notes if note.kind == 'too_deep']\n"
        "print(len(p.trace.events))\n"
    )
    pytest.importorskip("greenlet")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr == ""
    assert int(done.stdout) < 5_000


@pytest.mark.skipif(not HAS_EVAL_FRAME_HOOK, reason="frames are evaluated on 3.11 only")
def test_calls_are_recorded_once_when_somebody_puts_the_hook_of_an_earlier_session_back() -> None:
    program = (
        "import ctypes, sys, kinetograph as kg\n"
        "from test_calls_under_change import eval_frame_functions, tiny\n"
        "get, put = eval_frame_functions()\n"
        "with kg.profile(with_stack=True): ours = get()\n"
        "with kg.profile(with_stack=True, calls=kg.CallOptions(c_calls=True)) as p:\n"
        "    put(ours)\n"
        "    for _ in range(100): tiny()\n"
        "print(sum(event.name.endswith(': tiny') for event in p.trace.events))\n"
    )
    folders = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": folders},
    )
    assert (done.stderr, done.stdout) == ("", "100\n")


def eval_frame_functions() -> tuple[Callable[[], object], Callable[[object], object]]:
    """Functions that get and put the function by which the interpreter evaluates frames."""
    api = ctypes.pythonapi
    api.PyInterpreterState_Get.restype = ctypes.c_void_p
    interpreter = ctypes.c_void_p(api.PyInterpreterState_Get())
    get, put = api._PyInterpreterState_GetEvalFrameFunc, api._PyInterpreterState_SetEvalFrameFunc
    get.restype = ctypes.c_void_p
    return lambda: ctypes.c_void_p(get(interpreter)), lambda function: put(interpreter, function)

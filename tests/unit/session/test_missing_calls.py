"""Calls that could not be seen, because of other tools or of threads that nobody told us of, are told of."""

from __future__ import annotations

import _thread
import subprocess
import sys
from typing import Any

import pytest

from traced_calls import calls_in, missing, recorded


def leaf() -> None:
    pass


def parent() -> None:
    leaf()
    leaf()


UNSEEN_THREADS = """
import _thread, sys, time
import kinetograph as kg

def called(): ...

def ends():
    called()
    ended.append(True)

def outlives():
    called()
    begun.release()
    go.acquire()

ended = []
begun, go = _thread.allocate_lock(), _thread.allocate_lock()
begun.acquire(), go.acquire()
with kg.profile(with_stack=True, calls=kg.CallOptions(c_calls=True)) as p:
    sys.setprofile(None)  # else this thread would notice the others at once
    running = _thread._count()
    _thread.start_new_thread(ends, ())
    while not ended or _thread._count() > running:
        time.sleep(0.001)
    _thread.start_new_thread(outlives, ())
    begun.acquire()
print(*(note.text for note in p.trace.notes if note.kind == "missing"), sep=chr(10))
go.release()
"""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="sys.monitoring sees all threads")
def test_threads_that_the_profile_hook_saw_late_or_never_are_told_about() -> None:
    done = subprocess.run([sys.executable, "-c", UNSEEN_THREADS], capture_output=True, text=True, timeout=60)
    taken, unseen, late = done.stdout.splitlines()
    assert "in 1 threads" in taken
    assert unseen.startswith("1 threads were over")
    assert late.startswith("1 threads were not started")


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="sys.monitoring sees all threads")
def test_a_thread_that_threading_did_not_start_is_recorded_once_it_is_noticed() -> None:
    def work() -> None:
        begun, go, done = (_thread.allocate_lock() for _ in range(3))
        for lock in (begun, go, done):
            lock.acquire()
        _thread.start_new_thread(waits_and_calls, (begun, go, done))
        begun.acquire()
        leaf()
        go.release()
        done.acquire()

    def waits_and_calls(begun: Any, go: Any, done: Any) -> None:
        begun.release()
        go.acquire()
        parent()
        done.release()

    trace = recorded(work, c_calls=True)
    assert calls_in(trace, __file__)["leaf"] == 3


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="sys.monitoring is not sys.setprofile")
def test_a_profile_function_that_takes_our_place_is_told_about() -> None:
    def work() -> None:
        sys.setprofile(lambda *_: None)
        parent()

    try:
        trace = recorded(work, c_calls=True)
    finally:
        sys.setprofile(None)
    assert len(missing(trace)) == 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
@pytest.mark.parametrize("deed", ["no events", "freed", "taken", "other callback"])
def test_a_tool_that_takes_our_place_is_told_about_and_left_there(deed: str) -> None:
    monitoring = sys.monitoring
    names = {tool: monitoring.get_tool(tool) for tool in range(6)}

    def work() -> None:
        (tool,) = (tool for tool in range(6) if monitoring.get_tool(tool) == "kinetograph")
        if deed == "no events":
            monitoring.set_events(tool, 0)
        elif deed == "other callback":
            monitoring.register_callback(tool, monitoring.events.PY_START, lambda *_: None)
        else:
            monitoring.set_events(tool, 0)
            monitoring.free_tool_id(tool)
        if deed == "taken":
            monitoring.use_tool_id(tool, "thief")

    trace = recorded(work)
    now = {tool: monitoring.get_tool(tool) for tool in range(6)}
    for tool, name in now.items():
        if name == "thief":
            monitoring.free_tool_id(tool)
    assert len(missing(trace)) == 1
    assert [name for tool, name in now.items() if name != names[tool]] == (
        ["thief"] if deed == "taken" else []
    )
    assert missing(recorded(parent)) == []

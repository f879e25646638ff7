"""Ranges and operators of torch that cross threads, contexts and tasks."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kinetograph as kg
from agents import wait_until

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed here")


def test_operators_behind_a_context_that_is_over_lie_in_the_scope_around_them() -> None:
    def in_a_context() -> None:
        with kg.scope("inner"):
            torch.zeros(1)

    with kg.profile() as profile, kg.scope("outer"):
        contextvars.copy_context().run(in_a_context)
        torch.ones(2)
    events = {event.name: event for event in profile.events()}
    assert events["aten::ones"].parent == events["outer"]
    assert events["aten::zeros"].parent == events["inner"]


def test_a_range_of_a_task_without_a_scope_does_not_lie_in_that_of_another() -> None:
    async def serve(done: asyncio.Event) -> None:
        with kg.scope("serve"):
            await done.wait()

    async def handle() -> None:
        with kg.scope("parse"):
            await asyncio.sleep(0)
        with torch.profiler.record_function("model"), kg.scope("layer"):
            torch.zeros(1)

    async def main() -> None:
        done = asyncio.Event()
        server = asyncio.create_task(serve(done))
        await asyncio.sleep(0)
        await asyncio.create_task(handle())
        done.set()
        await server

    with kg.profile() as profile:
        asyncio.run(main())
    parents = {event.name: event.parent and event.parent.name for event in profile.events()}
    assert (parents["model"], parents["layer"], parents["aten::zeros"]) == (None, "model", "layer")


def in_a_thread(function: Callable[..., object], *args: object) -> None:
    thread = threading.Thread(target=function, args=args)
    thread.start()
    thread.join()


def test_a_range_that_a_future_ends_in_another_thread_ends_then() -> None:
    with kg.profile() as profile:
        future = torch.futures.Future()
        with torch.profiler.record_function("until the future") as span:
            span._call_end_callbacks_on_future(future)
        in_a_thread(future.set_result, torch.ones(1))
        torch.zeros(1)
    events = {event.name: event for event in profile.events()}
    span, behind = events["until the future"], events["aten::zeros"]
    assert span.finished
    assert span.end_ns <= behind.start_ns
    assert (span.parent, behind.parent) == (None, None)


def test_a_range_that_ends_in_another_thread_ends_with_the_session_at_the_latest() -> None:
    with kg.profile() as profile:
        span = torch.profiler.record_function("crossing")
        span.__enter__()
        in_a_thread(span.__exit__, None, None, None)
    crossing = next(event for event in profile.events() if event.name == "crossing")
    assert crossing.finished


def test_a_range_that_ends_in_another_thread_before_its_own_is_over_ends_then() -> None:
    def begin_it(begun: threading.Event, ended: threading.Event) -> None:
        span = torch.profiler.record_function("crossing")
        span.__enter__()
        spans.append(span)
        begun.set()
        ended.wait()

    spans: list[Any] = []
    begun, ended = threading.Event(), threading.Event()
    with kg.profile() as profile:
        thread = threading.Thread(target=begin_it, args=(begun, ended))
        thread.start()
        begun.wait()
        spans.pop().__exit__(None, None, None)
        kg.mark("ended")
        ended.set()
        thread.join()
        # Python lets go of a thread before that is over.
        wait_until(lambda: not Path(f"/proc/self/task/{thread.native_id}").exists())
    events = {event.name: event for event in profile.events()}
    assert events["crossing"].finished
    assert events["crossing"].end_ns <= events["ended"].start_ns


@pytest.mark.parametrize("is_recorded", [True, False], ids=["in its session", "behind it"])
def test_a_range_that_ended_in_another_thread_takes_nothing_from_the_next_session(is_recorded: bool) -> None:
    for _ in range(4):
        span = torch.profiler.record_function("crossing")
        with kg.profile():
            span.__enter__()
            if is_recorded:
                in_a_thread(span.__exit__, None, None, None)
        if not is_recorded:
            in_a_thread(span.__exit__, None, None, None)
        del span
        with kg.profile() as profile, torch.profiler.record_function("mine"):
            torch.ones(1)
        assert "mine" in [event.name for event in profile.events()]

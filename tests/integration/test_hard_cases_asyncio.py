"""Scopes of interleaved tasks keep their own nesting, each task on a lane of its thread."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import re
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinetograph as kg
from recorded import Tree, by_name, names, notes, recording, tree


def parents(trace: kg.Trace) -> dict[str, str | None]:
    """Parent by name; each must lie on the track of its child."""
    found: dict[str, str | None] = {}
    for event in trace.events:
        parent = event.parent
        assert parent is None or parent.track == event.track
        assert event.name not in found
        found[event.name] = parent.name if parent else None
    return found


def lanes(trace: kg.Trace) -> int:
    return sum(track.parent is not None for track in trace.tracks)


async def work(name: str, turns: int = 3) -> None:
    with kg.scope(f"{name} outer"):
        await asyncio.sleep(0)
        for turn in range(turns):
            with kg.scope(f"{name} inner {turn}"):
                await asyncio.sleep(0)


def test_a_hundred_interleaved_tasks_keep_their_own_nesting(tmp_path: Path) -> None:
    async def main() -> None:
        await asyncio.gather(*(work(f"task {i}") for i in range(100)))

    with recording() as window:
        asyncio.run(main())
    found = parents(window.trace)
    assert len(found) == 400
    for i in range(100):
        assert found[f"task {i} outer"] is None
        for turn in range(3):
            assert found[f"task {i} inner {turn}"] == f"task {i} outer"
    assert lanes(window.trace) == 99  # one of them ran on the thread itself
    assert notes(window.trace, "unbalanced") == []
    window.trace.save(tmp_path / "trace.json")
    assert parents(kg.load(tmp_path / "trace.json")) == found


def test_lanes_are_used_again_by_tasks_that_come_later() -> None:
    async def main() -> None:
        for batch in range(50):
            await asyncio.gather(*(work(f"batch {batch} task {i}", 1) for i in range(4)))

    with recording() as window:
        asyncio.run(main())
    assert len(window.trace) == 400
    assert lanes(window.trace) == 3


def test_a_lane_is_named_after_its_thread_and_task() -> None:
    async def main() -> None:
        tasks = [asyncio.create_task(work(name), name=name) for name in ("first", "second")]
        await asyncio.gather(*tasks)

    with recording() as window:
        asyncio.run(main())
    (lane,) = [track for track in window.trace.tracks if track.parent is not None]
    thread = window.trace.tracks[lane.parent]
    assert re.fullmatch(re.escape(thread.name) + r" lane \d+: second", lane.name)
    assert thread.name.endswith("(MainThread)")


def test_tasks_that_do_not_interleave_share_the_track_of_their_thread() -> None:
    async def main() -> None:
        for i in range(10):
            await asyncio.create_task(work(f"task {i}"))

    with recording() as window:
        asyncio.run(main())
    assert lanes(window.trace) == 0
    assert len(window.trace.tracks) == 1


def test_a_scope_around_the_loop_is_not_the_parent_of_what_tasks_do_on_lanes() -> None:
    with recording() as window, kg.scope("around"):
        asyncio.run(work("task"))
    found = by_name(window.trace)
    assert found["task outer"].track.parent is not None
    assert found["task inner 0"].parent == found["task outer"]
    assert found["around"].track.parent is None


def test_marks_open_no_lanes() -> None:
    async def mark() -> None:
        kg.mark("mark")
        await asyncio.sleep(0)
        kg.counter("counter", 1)

    async def main() -> None:
        await asyncio.gather(*(mark() for _ in range(500)))

    with recording() as window, kg.scope("around"):
        asyncio.run(main())
    assert len(window.trace) == 1001
    assert lanes(window.trace) <= 1


def test_tasks_of_several_threads_keep_apart() -> None:
    def loop(name: str) -> None:
        async def main() -> None:
            await asyncio.gather(*(work(f"{name} task {i}") for i in range(20)))

        asyncio.run(main())

    with recording() as window:
        threads = [threading.Thread(target=loop, args=(f"thread {i}",), name=f"loop {i}") for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = parents(window.trace)
    assert len(found) == 240
    assert Counter(found.values())["thread 1 task 7 outer"] == 3
    for event in window.trace.events:
        assert f"(loop {event.name.split()[1]})" in event.track.name


def test_work_handed_to_a_thread_is_recorded_there() -> None:
    def blocking() -> None:
        with kg.scope("in a thread"):
            pass

    async def main() -> None:
        with kg.scope("waiting"):
            await asyncio.gather(*(asyncio.to_thread(blocking) for _ in range(1)))

    with recording() as window:
        asyncio.run(main())
    found = by_name(window.trace)
    assert found["in a thread"].parent is None
    assert found["in a thread"].thread_id != found["waiting"].thread_id


def test_a_cancelled_task_ends_its_scopes_and_frees_its_lane() -> None:
    async def forever() -> None:
        with kg.scope("forever"), kg.scope("inside"):
            await asyncio.Event().wait()

    async def main() -> None:
        tasks = [asyncio.create_task(forever()) for _ in range(10)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(work(f"later {i}") for i in range(10)))

    with recording() as window:
        asyncio.run(main())
    assert len(window.trace) == 60
    assert all(event.finished for event in window.trace.events)
    assert lanes(window.trace) == 9


def test_a_task_that_never_ends_leaves_its_scope_unfinished_with_the_window() -> None:
    async def main() -> None:
        task = asyncio.create_task(work("endless", 10_000))
        with recording() as window:
            await asyncio.gather(*(work(f"short {i}") for i in range(3)))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        traces.append(window.trace)

    traces: list[kg.Trace] = []
    asyncio.run(main())
    unfinished = [event.name for event in traces[0].events if not event.finished]
    assert unfinished[0] == "endless outer"
    assert len(unfinished) <= 2


def test_async_generators_nest_where_they_are_driven() -> None:
    async def numbers() -> AsyncIterator[int]:
        with kg.scope("generator"):
            for number in range(3):
                with kg.scope(f"item {number}"):
                    await asyncio.sleep(0)
                yield number

    async def consume() -> None:
        with kg.scope("consumer"):
            async for number in numbers():
                with kg.scope(f"use {number}"):
                    await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(consume(), work("other"))

    with recording() as window:
        asyncio.run(main())
    found = parents(window.trace)
    assert found["generator"] == "consumer"
    assert found["item 2"] == found["use 2"] == "generator"
    assert found["other inner 2"] == "other outer"


def test_an_async_generator_that_is_left_early_ends_its_scope() -> None:
    async def numbers() -> AsyncIterator[int]:
        with kg.scope("generator"):
            for number in range(10):
                yield number

    async def main() -> None:
        generator = numbers()
        async for number in generator:
            if number == 3:
                break
        await generator.aclose()
        with kg.scope("after"):
            pass

    with recording() as window:
        asyncio.run(main())
    assert tree(window.trace) == [("generator", []), ("after", [])]


def test_a_context_of_its_own_is_a_lane_of_its_own() -> None:
    def inside() -> None:
        with kg.scope("in the context"):
            kg.mark("mark")

    context = contextvars.copy_context()
    with recording() as window:
        with kg.scope("around"):
            context.run(inside)
            with kg.scope("beside"):
                pass
        context.run(inside)
    assert Counter(names(window.trace)) == {"around": 1, "in the context": 2, "beside": 1, "mark": 2}
    assert {event.name: event.parent.name for event in window.trace.events if event.parent} == {
        "mark": "in the context",
        "beside": "around",
    }
    assert all(event.finished for event in window.trace.events)


def test_a_generator_in_a_context_of_its_own_ends_what_it_begins() -> None:
    @contextlib.contextmanager
    def span() -> Iterator[None]:
        with kg.scope("of the generator"):
            yield

    def job() -> None:
        with kg.scope("job"), span():
            pass

    with recording() as window:
        with kg.scope("around"):
            for _ in range(3):
                contextvars.copy_context().run(job)
        with kg.scope("later"):
            pass
    assert Counter(names(window.trace)) == {"around": 1, "job": 3, "of the generator": 3, "later": 1}
    inner = [event.parent for event in window.trace.events if event.name == "of the generator"]
    assert [parent and parent.name for parent in inner] == ["job"] * 3
    assert all(event.finished for event in window.trace.events)
    assert notes(window.trace, "unbalanced") == []


def test_a_generator_closed_late_ends_its_scope_out_of_order() -> None:
    def numbers() -> Iterator[int]:
        with kg.scope("generator"):
            yield 1
            yield 2

    with recording() as window:
        with kg.scope("opens it"):
            generator = numbers()
            next(generator)
        with kg.scope("goes on"):
            pass
        generator.close()
    found = by_name(window.trace)
    assert all(event.finished for event in window.trace.events)
    assert found["generator"].start_ns >= found["opens it"].start_ns
    assert found["generator"].end_ns >= found["goes on"].end_ns
    assert notes(window.trace, "unbalanced") == []


def test_ten_thousand_short_tasks_use_few_lanes_and_lose_nothing() -> None:
    async def main() -> None:
        for _ in range(100):
            await asyncio.gather(*(short() for _ in range(100)))

    async def short() -> None:
        with kg.scope("short"):
            await asyncio.sleep(0)

    with recording() as window:
        asyncio.run(main())
    assert len(window.trace) == 10_000
    assert lanes(window.trace) == 99


trees = st.recursive(
    st.just([]),
    lambda children: st.lists(st.tuples(st.sampled_from("abc"), children), max_size=3),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(trees, min_size=1, max_size=5))
def test_any_trees_of_any_tasks_read_back_equal(forest: list[Tree]) -> None:
    async def record(nested: Tree) -> None:
        for name, children in nested:
            with kg.scope(name):
                await asyncio.sleep(0)
                await record(children)
            await asyncio.sleep(0)

    async def task(number: int, nested: Tree) -> None:
        with kg.scope(f"task {number}"):
            await record(nested)

    async def main() -> None:
        await asyncio.gather(*(task(number, nested) for number, nested in enumerate(forest)))

    with recording() as window:
        asyncio.run(main())
    found = dict(tree(window.trace))
    assert found == {f"task {number}": nested for number, nested in enumerate(forest)}


@pytest.mark.parametrize("debug", [False, True])
def test_a_loop_in_debug_mode_is_recorded_the_same(debug: bool) -> None:
    with recording() as window:
        asyncio.run(work("task"), debug=debug)
    assert parents(window.trace) == {
        "task outer": None,
        **{f"task inner {turn}": "task outer" for turn in range(3)},
    }

"""Callbacks around scopes of tasks and threads, and of those that begin in one and end in another."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import subprocess
import sys
import threading
from typing import Any

import pytest

import kinetograph as kg
from kinetograph.errors import KinetographError
from observed import Log, observing


def test_interleaved_tasks_get_their_own_values() -> None:
    ends: list[tuple[str, str]] = []

    async def task(number: int) -> None:
        with kg.scope(f"outer {number}"):
            await asyncio.sleep(0)
            for _ in range(3):
                with kg.scope(f"inner {number}"):
                    await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(*(task(number) for number in range(20)))

    with observing(lambda fn: fn.name, lambda fn, value: ends.append((fn.name, value))):
        asyncio.run(main())
    assert len(ends) == 80
    assert all(name == value for name, value in ends)


def test_many_threads_observe_at_once() -> None:
    ends: list[tuple[str, str]] = []

    def work(name: str) -> None:
        for _ in range(200):
            with kg.scope(name), kg.scope(f"{name} inner"):
                pass

    with observing(lambda fn: fn.name, lambda fn, value: ends.append((fn.name, value))):
        threads = [threading.Thread(target=work, args=(f"thread {i}",)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(ends) == 1600
    assert all(name == value for name, value in ends)


def test_a_scope_left_in_another_context_gets_its_end() -> None:
    log = Log()
    with observing(log.enter, log.leave):
        for detailed in (kg.scope("x"), kg.scope("x", args="own object")):
            contextvars.Context().run(detailed.__enter__)
            contextvars.Context().run(detailed.__exit__, None, None, None)
    assert log.lines == ["> x", "< x: value of x"] * 2


def test_a_scope_left_in_another_thread_gets_its_end_once() -> None:
    log = Log()
    with observing(log.enter, log.leave):
        entered = threading.Thread(target=kg.scope("x").__enter__)
        entered.start()
        entered.join()
        gc.collect()
        kg.scope("x").__exit__(None, None, None)
        kg.scope("x").__exit__(None, None, None)
    assert log.lines == ["> x", "< x: value of x"]


def test_ends_are_told_apart_by_name_however_many_names_there_are() -> None:
    # So many that names no longer share an object; in a process of its own, for that stays so.
    program = (
        "import kinetograph as kg\n"
        "for number in range(10_000): kg.scope(f'one of many {number}')\n"
        "assert kg.scope('more') is not kg.scope('more')\n"
        "kg.add_global_callback(lambda begun: 7, lambda ended, value: print(ended.name, value))\n"
        "kg.scope('more').__enter__()\n"
        "kg.scope('more').__exit__(None, None, None)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("more 7\n", "")


def test_an_end_belongs_to_the_begin_of_its_own_thread_first() -> None:
    log = Log()
    with observing(log.enter, log.leave):
        inside, leave = threading.Event(), threading.Event()

        def elsewhere() -> None:
            with kg.scope("x"):
                inside.set()
                leave.wait()

        other = threading.Thread(target=elsewhere)
        contextvars.Context().run(kg.scope("x").__enter__)
        other.start()
        inside.wait()
        kg.scope("x").__exit__(None, None, None)
        assert log.lines == ["> x", "> x", "< x: value of x"]
        leave.set()
        other.join()
    assert log.lines == ["> x", "> x"] + ["< x: value of x"] * 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_enter": 3}, "on_enter: expected a function, got 3"),
        ({"on_exit": "x"}, "on_exit: expected a function, got 'x'"),
        ({"on_enter": print, "scopes": "FUNCTION"}, "scopes: expected a set or list of RecordScope"),
        ({"on_enter": print, "needs_inputs": 1}, "needs_inputs: expected True or False"),
        ({"on_enter": print, "sampling_probability": "x"}, "sampling_probability: expected 0 to 1, got 'x'"),
    ],
)
def test_a_wrong_option_of_a_callback_is_told_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(KinetographError, match=message):
        kg.add_global_callback(**options)


def test_what_is_no_handle_removes_nothing() -> None:
    with pytest.raises(KinetographError, match="there is no callback"):
        kg.remove_callback([])  # type: ignore[arg-type]

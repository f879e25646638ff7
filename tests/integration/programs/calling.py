"""Programs that call in every way there is: each does the same every time it runs.

`PROGRAMS` says which of their calls to compare: `everything`, or the functions of this file (`own`), where
how often the standard library calls itself depends on when a thread or a packet comes.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any, NamedTuple


class Program(NamedTuple):
    run: Callable[[], object]
    everything: bool


PROGRAMS: dict[str, Program] = {}


def program(function: Callable[[], object], everything: bool = True) -> Callable[[], object]:
    PROGRAMS[function.__name__] = Program(function, everything)
    return function


def own(function: Callable[[], object]) -> Callable[[], object]:
    return program(function, everything=False)


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@program
def recursion() -> None:
    fib(15)


# A scheduler with tasks that send each other letters, in the manner of Richards


class Task:
    def __init__(self, name: str, rank: int) -> None:
        self.name, self.rank = name, rank
        self.letters: list[int] = []

    @property
    def is_waiting(self) -> bool:
        return not self.letters

    def step(self, office: Office) -> None:
        letter = self.letters.pop(0)
        if letter > 0:
            office.post(self.answer(letter), letter - 1)

    def answer(self, letter: int) -> str:
        return "abc"[letter % 3]


class Sorter(Task):
    def answer(self, letter: int) -> str:
        return super().answer(letter * 7 + self.rank)


class Office:
    def __init__(self) -> None:
        self.tasks = {
            name: Sorter(name, rank) if rank == 1 else Task(name, rank) for rank, name in enumerate("abc")
        }

    def post(self, name: str, letter: int) -> None:
        self.tasks[name].letters.append(letter)

    def next_task(self) -> Task | None:
        ready = [task for task in self.tasks.values() if not task.is_waiting]
        return min(ready, key=lambda task: task.rank, default=None)

    def work(self) -> None:
        while (task := self.next_task()) is not None:
            task.step(self)


@program
def scheduler() -> None:
    office = Office()
    for letter in range(30):
        office.post("abc"[letter % 3], letter)
    office.work()


# Generators


def counting(n: int) -> Iterator[int]:
    try:
        for number in range(n):
            yield number + 0
    finally:
        fib(2)


@program
def generators_run_out() -> None:
    list(counting(10))
    sum(number for number in counting(5))


@program
def generators_closed_early() -> None:
    for number in counting(10):
        if number == 3:
            break
    started = counting(10)
    next(started)
    started.close()


@program
def generators_never_started() -> None:
    counting(3)
    counting(3).close()
    with suppress(KeyError):
        counting(3).throw(KeyError)


def stubborn() -> Iterator[str]:
    for _ in range(3):
        try:
            yield "asked"
        except KeyError:
            fib(3)
            yield "caught"


@program
def generators_thrown_into() -> None:
    numbers = counting(5)
    next(numbers)
    with suppress(KeyError):
        numbers.throw(KeyError)
    answers = stubborn()
    next(answers)
    answers.throw(KeyError)
    list(answers)


def delegating(inner: Any) -> Iterator[Any]:
    result = yield from inner
    yield result


@program
def generators_delegated() -> None:
    list(delegating(counting(4)))
    list(delegating([1, 2]))
    sent = delegating(stubborn())
    next(sent)
    sent.send(1)
    sent.throw(KeyError)
    sent.close()


def holding(cycle: list[object]) -> Iterator[object]:
    try:
        yield cycle
    finally:
        fib(2)


@program
def generators_in_a_cycle() -> None:
    cycle: list[object] = []
    cycle.append(holding(cycle))
    next(cycle[0])
    del cycle
    gc.collect()


# Exceptions


def descending(number: int) -> int:
    if number == 5:
        raise ValueError(number)
    return -number


def added(left: int, right: int) -> int:
    if right == 9:
        raise ValueError(right)
    return left + right


@program
def exceptions_through_c_code() -> None:
    sorted(range(4), key=descending)
    with suppress(ValueError):
        sorted(range(10), key=descending)
    with suppress(ValueError):
        functools.reduce(added, range(20))
    with suppress(ValueError):
        list(map(descending, range(10)))
    with suppress(TypeError):
        len(3)


def failing(depth: int) -> None:
    try:
        if depth == 0:
            raise KeyError
        failing(depth - 1)
    finally:
        fib(1)


@program
def exceptions_through_many_frames() -> None:
    with suppress(KeyError):
        failing(20)
    try:
        failing(2)
    except KeyError:
        with suppress(KeyError):
            failing(1)


# Classes, comprehensions, context managers


class Meta(type):
    def __call__(cls, *args: object) -> Any:
        return super().__call__(*args)


@program
def classes_and_their_bodies() -> None:
    class Point(metaclass=Meta):
        def __init__(self, x: int) -> None:
            self.x = x

        def __getattr__(self, name: str) -> str:
            return name

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Point) and self.x == other.x

        def __hash__(self) -> int:
            return hash(self.x)

        def __del__(self) -> None:
            fib(1)

        @functools.cached_property
        def twice(self) -> int:
            return 2 * self.x

    points = {Point(number) for number in (1, 2, 1)}
    assert Point(1) in points
    for point in points:
        assert point.twice == point.twice
        assert point.missing == "missing"
    points.clear()


class Squares:
    def __getitem__(self, number: int) -> int:
        return number * number

    @property
    def third(self) -> int:
        return self[3]


@program
def methods_that_instructions_call() -> None:
    squares = Squares()
    for number in range(100):  # often enough for the interpreter to specialise the instructions
        assert squares[number] == number * number
        assert squares.third == 9


@program
def comprehensions() -> None:
    rows = [[fib(column) for column in range(4)] for _ in range(3)]
    assert {number for row in rows for number in row}
    assert {number: fib(number) for number in range(5)}
    assert any(number > 100 for number in map(lambda number: number * 2, range(10))) is False


@contextmanager
def managed(outcome: list[str]) -> Iterator[None]:
    try:
        yield
    except ValueError:
        outcome.append("caught")
    finally:
        fib(1)


@program
def context_managers() -> None:
    outcome: list[str] = []
    with managed(outcome):
        fib(3)
    with managed(outcome):
        raise ValueError
    with ExitStack() as stack:
        stack.enter_context(managed(outcome))
        stack.callback(fib, 2)


# Coroutines


async def leaf(number: int) -> int:
    await asyncio.sleep(0)
    return fib(number % 4)


async def arriving() -> AsyncIterator[int]:
    for number in range(4):
        await asyncio.sleep(0)
        yield number


@asynccontextmanager
async def opened() -> AsyncIterator[None]:
    await asyncio.sleep(0)
    yield
    await asyncio.sleep(0)


async def gather_and_iterate() -> None:
    await asyncio.gather(*(leaf(number) for number in range(20)))
    async for _ in arriving():
        await leaf(1)
    early = arriving()
    await early.__anext__()
    await early.aclose()
    async with opened():
        assert [number async for number in arriving()]


@program
def coroutines() -> None:
    asyncio.run(gather_and_iterate())


async def waiting_for_ever() -> None:
    try:
        await asyncio.Event().wait()
    finally:
        await leaf(2)


async def cancel_what_waits() -> None:
    tasks = [asyncio.create_task(waiting_for_ever()) for _ in range(3)]
    never_run = asyncio.create_task(leaf(1))
    never_run.cancel()
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, never_run, return_exceptions=True)


@program
def coroutines_cancelled() -> None:
    asyncio.run(cancel_what_waits())


# A server and its clients. Question and answer take turns, so that no line is there before it is awaited.


async def answer_questions(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        writer.write(b"%d\n" % fib(int(line)))
        await writer.drain()
    writer.close()


async def ask(port: int, questions: int) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    total = 0
    for number in range(questions):
        writer.write(b"%d\n" % number)
        total += int(await reader.readline())
    writer.close()
    await writer.wait_closed()
    return total


async def serve_and_ask() -> None:
    server = await asyncio.start_server(answer_questions, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        assert await asyncio.gather(*(ask(port, questions) for questions in (3, 6, 9)))
    ours = asyncio.current_task()
    await asyncio.gather(*(task for task in asyncio.all_tasks() if task is not ours))


@own
def asyncio_server_with_clients() -> None:
    asyncio.run(serve_and_ask())


# Threads


@own
def thread_pool() -> None:
    with ThreadPoolExecutor(4) as pool:
        assert len(list(pool.map(fib, range(12)))) == 12
        futures = [pool.submit(failing, 3) for _ in range(5)]
    assert all(isinstance(future.exception(), KeyError) for future in futures)


def echo(left: socket.socket) -> None:
    with left:
        while data := left.recv(1):
            left.sendall(bytes([fib(data[0])]))


@own
def threads_that_take_turns() -> None:
    left, right = socket.socketpair()
    thread = threading.Thread(target=echo, args=(left,))
    thread.start()
    with right:
        for number in range(10):
            right.sendall(bytes([number]))
            assert right.recv(1)
    thread.join()


def leaving(depth: int) -> None:
    if depth == 0:
        sys.exit(3)
    leaving(depth - 1)


class Worker(threading.Thread):
    def run(self) -> None:
        for number in counting(5):
            if number == 2:
                leaving(3)


@own
def threads_that_exit() -> None:
    threads = [Worker() for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# The interpreter drops a Python hook that fails for want of stack, so this one counts itself.


class Depth:
    reached = 0


def endless() -> None:
    Depth.reached += 1
    endless()


def too_deep() -> None:
    Depth.reached = 0
    with suppress(RecursionError):
        endless()

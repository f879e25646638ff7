"""`@kg.scope("name")` on everything that can be called, and that what is decorated stays what it was."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
import gc
import inspect
import pickle
import sys
import weakref
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any

import pytest

import kinetograph as kg
from kinetograph import _native
from kinetograph.errors import KinetographError
from recorded import names, recording, tree


@kg.scope("module level")
def module_level(a: int, b: str = "x", *rest: int, key: bool = False, **others: Any) -> tuple[Any, ...]:
    """What it does."""
    return a, b, rest, key, others


@kg.scope("generator")
def generate(count: int) -> Generator[int, Any, str]:
    """Numbers."""
    sent = []
    for number in range(count):
        sent.append((yield number))
    return f"sent {sent}"


@kg.scope("coroutine")
async def coroutine(value: int) -> int:
    """Waits."""
    await asyncio.sleep(0)
    return value


@kg.scope("async generator")
async def generate_async(count: int) -> AsyncIterator[int]:
    """Numbers, later."""
    for number in range(count):
        await asyncio.sleep(0)
        yield number


class Class:
    @kg.scope("method")
    def method(self, value: int) -> tuple[Any, int]:
        return self, value

    @kg.scope("over classmethod")
    @classmethod
    def over_classmethod(cls) -> type:
        return cls

    @classmethod
    @kg.scope("under classmethod")
    def under_classmethod(cls) -> type:
        return cls

    @kg.scope("over staticmethod")
    @staticmethod
    def over_staticmethod(value: int) -> int:
        return value

    @staticmethod
    @kg.scope("under staticmethod")
    def under_staticmethod(value: int) -> int:
        return value

    @property
    @kg.scope("property")
    def value(self) -> int:
        return 7

    @kg.scope("call")
    def __call__(self, value: int) -> int:
        return value


async def collect(items: AsyncIterator[int]) -> list[int]:
    return [item async for item in items]


# Functions


@pytest.mark.parametrize("on", [False, True])
def test_a_function_gets_its_arguments_and_gives_its_result(on: bool) -> None:
    def call() -> tuple[Any, ...]:
        return module_level(1, "y", 2, 3, key=True, more=4)

    if on:
        with recording() as window:
            result = call()
        assert names(window.trace) == ["module level"]
    else:
        result = call()
    assert result == (1, "y", (2, 3), True, {"more": 4})


def test_wrong_arguments_are_the_functions_own_error() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        module_level()


def test_methods_of_all_kinds_bind_as_before() -> None:
    one = Class()
    with recording() as window:
        assert one.method(3) == (one, 3)
        assert Class.method(one, 4) == (one, 4)
        assert one.over_classmethod() is Class.over_classmethod() is Class
        assert one.under_classmethod() is Class.under_classmethod() is Class
        assert one.over_staticmethod(5) == Class.over_staticmethod(5) == 5
        assert one.under_staticmethod(6) == Class.under_staticmethod(6) == 6
        assert one.value == 7
        assert one(8) == 8
    expected = ["method", "over classmethod", "under classmethod", "over staticmethod", "under staticmethod"]
    assert names(window.trace) == [name for name in expected for _ in range(2)] + ["property", "call"]


def test_a_subclass_may_override_and_call_the_decorated_method() -> None:
    class Sub(Class):
        def method(self, value: int) -> tuple[Any, int]:
            return super().method(value + 1)

    one = Sub()
    with recording() as window:
        assert one.method(1) == (one, 2)
    assert names(window.trace) == ["method"]


def test_recursion_nests() -> None:
    @kg.scope("countdown")
    def countdown(number: int) -> int:
        return 0 if number == 0 else 1 + countdown(number - 1)

    with recording() as window:
        assert countdown(3) == 3
    assert tree(window.trace) == [("countdown", [("countdown", [("countdown", [("countdown", [])])])])]


def test_an_exception_passes_and_ends_the_scope() -> None:
    @kg.scope("fails")
    def fails() -> None:
        raise KeyError("mine")

    with recording() as window:
        with pytest.raises(KeyError, match="mine") as caught:
            fails()
        kg.mark("after")
    assert tree(window.trace) == [("fails", []), ("after", [])]
    assert caught.traceback[-1].name == "fails"


def test_a_session_may_start_or_stop_inside_the_function() -> None:
    @kg.scope("around")
    def start_inside() -> None:
        kg.enable_profiler()

    @kg.scope("around")
    def stop_inside() -> kg.Trace:
        return kg.disable_profiler().trace

    start_inside()
    trace = stop_inside()
    assert [(event.name, event.finished) for event in trace.events] == [("around", False)]


def test_builtins_partials_and_callables_can_be_decorated() -> None:
    length = kg.scope("len")(len)
    partial = kg.scope("partial")(functools.partial(max, 1))
    callable_object = kg.scope("callable")(Class())
    with recording() as window:
        assert length([1, 2]) == 2
        assert partial(2) == 2
        assert callable_object(9) == 9
    assert [name for name in names(window.trace) if name != "call"] == ["len", "partial", "callable"]


def test_a_class_is_refused_for_it_would_be_one_no_more() -> None:
    with pytest.raises(KinetographError, match="decorates functions, got the class Class") as caught:
        kg.scope("x")(Class)
    assert "__init__" in str(caught.value.hint)


def test_what_cannot_be_called_cannot_be_decorated() -> None:
    with pytest.raises(KinetographError, match=r"@kg\.scope: expected a function, got 3"):
        kg.scope("x")(3)


def test_a_scope_with_details_decorates_as_well() -> None:
    @kg.scope("op", "text", kind="function", step=3)
    def op() -> int:
        return 1

    with recording() as window:
        assert op() + op() == 2
    for event in window.trace.events:
        assert (event.name, event.category) == ("op", "cpu_op")
        assert event.args == {"args": "text", "step": 3}


def test_decorators_stack() -> None:
    @kg.scope("outer")
    @kg.scope("inner")
    def twice() -> int:
        return 1

    with recording() as window:
        twice()
    assert tree(window.trace) == [("outer", [("inner", [])])]


# What it still is


DECORATED = [module_level, generate, coroutine, generate_async, Class.method, Class.under_staticmethod]


@pytest.mark.parametrize("function", DECORATED, ids=lambda function: function.__name__)
def test_name_doc_module_and_signature_are_those_of_the_function(function: Any) -> None:
    original = inspect.unwrap(function)
    assert original is not function
    for name in ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__"):
        assert getattr(function, name) == getattr(original, name)
    assert inspect.signature(function) == inspect.signature(original)
    assert inspect.getsource(function).lstrip().startswith(("@kg.scope", "@staticmethod"))


def test_what_kind_of_function_it_is_can_still_be_asked() -> None:
    assert inspect.iscoroutinefunction(coroutine)
    assert asyncio.iscoroutinefunction(coroutine)
    assert inspect.isgeneratorfunction(generate)
    assert inspect.isasyncgenfunction(generate_async)
    assert callable(module_level)
    assert not inspect.iscoroutinefunction(module_level)


@pytest.mark.parametrize(
    "function", [module_level, generate, coroutine], ids=lambda function: function.__name__
)
def test_it_is_pickled_by_name(function: Any) -> None:
    assert pickle.loads(pickle.dumps(function)) is function


def test_a_bound_method_is_pickled_with_its_object() -> None:
    bound = pickle.loads(pickle.dumps(Class().method))
    assert bound(3)[1] == 3


def test_attributes_can_be_read_and_set() -> None:
    def plain() -> None: ...

    plain.mine = 1
    decorated = kg.scope("x")(plain)
    decorated.own = 2
    assert (decorated.mine, decorated.own, decorated.__wrapped__) == (1, 2, plain)
    assert decorated.__code__ is plain.__code__
    assert "mine" in vars(decorated)


def test_it_can_be_referred_to_weakly_and_dies_with_its_function() -> None:
    @kg.scope("x")
    def local() -> None: ...

    alive = weakref.ref(local)
    assert alive() is local
    del local
    gc.collect()
    assert alive() is None


def test_functools_tools_work_on_it() -> None:
    calls = []

    @functools.lru_cache
    @kg.scope("cached")
    def cached(value: int) -> int:
        calls.append(value)
        return value

    assert (cached(1), cached(1), cached(2)) == (1, 1, 2)
    assert calls == [1, 2]


def test_off_it_costs_no_frame_of_its_own() -> None:
    @kg.scope("depth")
    def depth() -> int:
        frame, found = sys._getframe(), 0
        while frame is not None:
            frame, found = frame.f_back, found + 1
        return found

    assert depth() == inspect.unwrap(depth)()


# Generators


def test_a_generator_is_one_span_per_run() -> None:
    with recording() as window:
        for _ in generate(3):
            kg.mark("between")
    assert names(window.trace) == ["generator", "between"] * 3 + ["generator"]
    assert all(event.parent is None for event in window.trace.events)


def test_a_generator_gets_what_is_sent_and_gives_its_result() -> None:
    def drive() -> str:
        numbers = generate(2)
        assert next(numbers) == 0
        assert numbers.send("one") == 1
        with pytest.raises(StopIteration) as stop:
            numbers.send("two")
        return stop.value.value

    assert drive() == "sent ['one', 'two']"
    with recording():
        assert drive() == "sent ['one', 'two']"


def test_a_generator_can_be_delegated_to() -> None:
    def outer() -> Iterator[int]:
        result = yield from generate(2)
        yield len(result)

    with recording():
        assert list(outer()) == [0, 1, len("sent [None, None]")]


@pytest.mark.parametrize("on", [False, True])
def test_what_is_thrown_into_a_generator_arrives_there(on: bool) -> None:
    @kg.scope("catches")
    def catches() -> Iterator[str]:
        while True:
            try:
                yield "waiting"
            except ValueError as error:
                yield f"caught {error}"

    def drive() -> None:
        generator = catches()
        next(generator)
        assert generator.throw(ValueError("this")) == "caught this"
        assert next(generator) == "waiting"
        with pytest.raises(KeyError):
            generator.throw(KeyError("not that"))
        with pytest.raises(StopIteration):
            next(generator)

    if not on:
        return drive()
    with recording() as window:
        drive()
    assert all(event.finished for event in window.trace.events)
    return None


@pytest.mark.parametrize("on", [False, True])
def test_closing_a_generator_runs_its_cleanup(on: bool) -> None:
    done = []

    @kg.scope("cleans up")
    def cleans_up() -> Iterator[int]:
        try:
            yield 1
        finally:
            done.append("cleaned")

    def drive() -> None:
        generator = cleans_up()
        next(generator)
        generator.close()
        assert done == ["cleaned"]
        generator = cleans_up()
        generator.close()  # never started
        generator = cleans_up()
        next(generator)
        del generator
        gc.collect()
        assert done == ["cleaned"] * 2

    if on:
        with recording() as window:
            drive()
        assert all(event.finished for event in window.trace.events)
    else:
        drive()


def test_a_generator_that_ignores_its_close_is_told_as_without_us() -> None:
    @kg.scope("stubborn")
    def stubborn() -> Iterator[int]:
        with contextlib.suppress(GeneratorExit):
            yield 1
        yield 2

    generator = stubborn()
    next(generator)
    with pytest.raises(RuntimeError, match="generator ignored GeneratorExit"):
        generator.close()


def test_an_exception_of_a_generator_passes_and_ends_it() -> None:
    @kg.scope("breaks")
    def breaks() -> Iterator[int]:
        yield 1
        raise LookupError("mine")

    with recording() as window:
        generator = breaks()
        next(generator)
        with pytest.raises(LookupError, match="mine"):
            next(generator)
    assert names(window.trace) == ["breaks", "breaks"]


class Item:
    pass


def test_a_generator_does_not_hold_the_item_it_gave() -> None:
    @kg.scope("items")
    def items() -> Iterator[Item]:
        while True:
            yield Item()

    generator = items()
    gone = weakref.ref(next(generator))
    assert gone() is None
    generator.close()


def test_a_generator_does_not_hold_what_was_sent_or_thrown() -> None:
    @kg.scope("sink")
    def sink() -> Iterator[None]:
        while True:
            with contextlib.suppress(ValueError):
                yield

    generator, item, error = sink(), Item(), ValueError()
    next(generator)
    gone = weakref.ref(item)
    generator.send(item)
    del item
    assert gone() is None
    error.item = Item()
    gone_error = weakref.ref(error.item)
    generator.throw(error)
    del error
    assert gone_error() is None
    generator.close()


# Coroutines and async generators


def test_a_coroutine_is_one_span_with_its_waits() -> None:
    with recording() as window:
        assert asyncio.run(coroutine(5)) == 5
    assert names(window.trace) == ["coroutine"]


def test_coroutines_that_interleave_keep_apart() -> None:
    async def main() -> list[int]:
        return await asyncio.gather(*(coroutine(i) for i in range(10)))

    with recording() as window:
        assert asyncio.run(main()) == list(range(10))
    assert names(window.trace) == ["coroutine"] * 10
    assert len(window.trace.tracks) == 10


def test_an_exception_and_a_cancel_end_the_span_of_a_coroutine() -> None:
    @kg.scope("waits")
    async def waits() -> None:
        await asyncio.Event().wait()

    @kg.scope("fails")
    async def fails() -> None:
        raise ValueError("mine")

    async def main() -> None:
        with pytest.raises(ValueError, match="mine"):
            await fails()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(waits(), 0.001)

    with recording() as window:
        asyncio.run(main())
    assert sorted(names(window.trace)) == ["fails", "waits"]
    assert all(event.finished for event in window.trace.events)


def test_an_async_generator_is_one_span_per_run() -> None:
    with recording() as window:
        assert asyncio.run(collect(generate_async(3))) == [0, 1, 2]
    assert names(window.trace) == ["async generator"] * 4


def test_an_async_generator_gets_what_is_sent_thrown_and_its_close() -> None:
    heard: list[str] = []

    @kg.scope("hears")
    async def hears() -> AsyncIterator[str]:
        try:
            while True:
                try:
                    heard.append(f"sent {(yield 'ready')}")
                except ValueError as error:
                    heard.append(f"thrown {error}")
        finally:
            heard.append("closed")

    async def main() -> None:
        generator = hears()
        assert await anext(generator) == "ready"
        assert await generator.asend("a") == "ready"
        assert await generator.athrow(ValueError("b")) == "ready"
        await generator.aclose()
        assert [item async for item in generator] == []

    with recording() as window:
        asyncio.run(main())
    assert heard == ["sent a", "thrown b", "closed"]
    assert all(event.finished for event in window.trace.events)


def test_an_async_generator_left_early_is_cleaned_up_by_the_loop() -> None:
    done = []

    @kg.scope("left")
    async def left() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            done.append("cleaned")

    async def main() -> None:
        async for _ in left():
            break

    with recording() as window:
        asyncio.run(main())
    assert done == ["cleaned"]
    assert all(event.finished for event in window.trace.events)


def test_an_async_generator_does_not_hold_the_item_it_gave() -> None:
    @kg.scope("items")
    async def items() -> AsyncIterator[Item]:
        while True:
            yield Item()

    async def main() -> bool:
        generator = items()
        gone = weakref.ref(await anext(generator))
        is_gone = gone() is None
        await generator.aclose()
        return is_gone

    assert asyncio.run(main())


def test_a_wrapper_that_is_called_while_it_is_collected_refuses() -> None:
    told: list[str] = []

    def call_wrapper(_code: object) -> None:
        try:
            ctypes.cast(address, ctypes.py_object).value()
        except ReferenceError as error:
            told.append(str(error))

    wrapper = _native.ScopedFunction(kg.scope("cycle"), eval("lambda: None"))
    wrapper.cycle = wrapper
    # The collector knows no code objects: this one is freed when it takes the function from the wrapper.
    watch = weakref.ref(wrapper.__code__, call_wrapper)
    address = id(wrapper)
    del wrapper
    gc.collect()
    assert watch() is None
    assert told == ["the function of this scope has been collected"]

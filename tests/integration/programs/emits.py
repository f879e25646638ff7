"""Programs that send ranges and scopes to other tools: tests of emission run one of these.

Each prints what the test compares with what the tool has seen.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

import kinetograph as kg
from kinetograph import _native
from kinetograph.session import low_level


def emission(target: str, **options: bool) -> Any:
    return (kg.emit_nvtx if target == "nvtx" else kg.emit_itt)(**options)


def scopes(target: str) -> object:
    with kg.scope("before"), emission(target):
        with kg.scope("outer"):
            with kg.scope("inner"):
                kg.mark("here")
            with kg.scope("inner"):
                kg.counter("queue", 2.5)
        decorated()
    with kg.scope("after"):
        pass
    return {"is_emitting": _native.is_emitting()}


@kg.scope("decorated")
def decorated() -> None:
    with kg.scope("naïve ünïcode"):
        pass


def looks(target: str) -> object:
    with emission(target):
        with kg.scope("plain"):
            pass
        with kg.scope("looks", color="red", category="mine", payload=-3):
            pass
        with kg.scope("big", payload=2**63):
            pass
        with kg.scope("real", payload=0.5, color="no such color"):
            pass
        with kg.scope("operator", kind=kg.RecordScope.FUNCTION):
            pass
    return {}


def odd_looks(target: str) -> object:
    class Raises:
        def __float__(self) -> float:
            raise RuntimeError("two numbers are not one")

    with warnings.catch_warnings(record=True) as caught, emission(target):
        warnings.simplefilter("always")
        for payload in ("a text", "another", 7):
            with kg.scope("odd", color="no such color", category=5, payload=payload):
                pass
        with kg.scope("raises", payload=Raises()):
            pass
    return [[warning.filename == __file__, str(warning.message)] for warning in caught]


def odd_looks_as_errors(target: str) -> object:
    with warnings.catch_warnings(), emission(target):
        warnings.simplefilter("error")
        with kg.scope("odd", color="no such color", category="mine", payload=7):
            pass
        with kg.scope("odd", color="red", payload="a text"):
            pass
    return {"is_emitting": _native.is_emitting()}


def shapes(target: str) -> object:
    import numpy

    array = numpy.zeros((2, 3))
    with emission(target, record_shapes=True), kg.scope("matmul", inputs=[array, 1]):
        pass
    with emission(target), kg.scope("matmul", inputs=[array, 1]):
        pass
    return {}


def many_threads(target: str) -> object:
    tids = {}
    ready = threading.Barrier(4)

    def work(number: int) -> None:
        tids[number] = threading.get_native_id()
        ready.wait()
        for _ in range(50):
            with kg.scope(f"outer {number}"), kg.scope("inner"):
                pass

    with emission(target):
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return {"tids": [tids[number] for number in range(4)], "is_emitting": _native.is_emitting()}


def open_at_the_end(target: str) -> object:
    """A scope of another thread is open when emission ends: it still ends, and then nothing is on."""
    begun, over = threading.Event(), threading.Event()
    tids = []

    def work() -> None:
        tids.append(threading.get_native_id())
        with kg.scope("long"):
            begun.set()
            over.wait()
            with kg.scope("too late"):
                pass

    thread = threading.Thread(target=work)
    with emission(target):
        thread.start()
        begun.wait()
    was_emitting = _native.is_emitting()
    over.set()
    thread.join()
    return {"tid": tids[0], "was_emitting": was_emitting, "is_emitting": _native.is_emitting()}


def left_open(target: str) -> object:
    """A thread that ends inside a scope leaves nothing on."""

    def work() -> None:
        kg.scope("never ends").__enter__()

    with emission(target):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    while _native.is_emitting():  # until the system has ended the thread, which is after join()
        time.sleep(0.001)
    return {}


def nested_emissions(target: str) -> object:
    with emission(target), emission(target), kg.scope("twice"):
        pass
    other = emission(target)
    with emission(target):
        other.start()
    with kg.scope("still"):
        pass
    other.stop()
    with kg.scope("over"):
        pass
    return {"is_emitting": _native.is_emitting()}


def out_of_order(target: str) -> object:
    def steps() -> Iterator[None]:
        with kg.scope("generator"):
            yield

    with emission(target):
        generator = steps()
        next(generator)
        with kg.scope("body"):
            next(generator, None)
            with kg.scope("inside"):
                pass
    return {}


def tasks(target: str) -> object:
    async def one(two_began: asyncio.Event, one_is_over: asyncio.Event) -> None:
        with kg.scope("one"):
            await two_began.wait()
        one_is_over.set()

    async def two(two_began: asyncio.Event, one_is_over: asyncio.Event) -> None:
        with kg.scope("two"):
            two_began.set()
            await one_is_over.wait()
            with kg.scope("alone"):
                pass

    async def main() -> None:
        events = asyncio.Event(), asyncio.Event()
        await asyncio.gather(one(*events), two(*events))

    with emission(target):
        asyncio.run(main())
    return {}


def ends_elsewhere(target: str) -> object:
    """Ends that the tool was told no begin of are not told either."""
    with emission(target):
        kg.scope("never begun").__exit__(None, None, None)
        scope = kg.scope("handed over")
        scope.__enter__()
        thread = threading.Thread(target=scope.__exit__, args=(None, None, None))
        thread.start()
        thread.join()
        scope.__exit__(None, None, None)
    return {}


def forks(target: str) -> object:
    with emission(target), kg.scope("both"):
        child = os.fork()
        with kg.scope("child" if child == 0 else "parent"):
            pass
    if child == 0:
        os._exit(3 if _native.is_emitting() else 0)
    _pid, status = os.waitpid(child, 0)
    return {"child": child, "status": os.waitstatus_to_exitcode(status)}


def session_forks(target: str) -> object:
    state = kg.ProfilerState[target.upper()]
    kg.enable_profiler(kg.ProfilerConfig(state))
    child = os.fork()
    with kg.scope("child" if child == 0 else "parent"):
        pass
    is_enabled = kg.is_profiler_enabled_in_main_thread()
    events = len(kg.disable_profiler().events)
    is_over = not _native.is_emitting() and not kg.is_profiler_enabled_in_main_thread()
    if child == 0:
        os._exit(0 if is_enabled and is_over and events == 0 else 3)
    _pid, status = os.waitpid(child, 0)
    return {"child": child, "status": os.waitstatus_to_exitcode(status), "is_over": is_over}


def session_forks_while_it_ends(target: str) -> object:
    kg.enable_profiler(kg.ProfilerConfig(kg.ProfilerState[target.upper()]))
    (ending,) = low_level._running
    is_held, is_over = threading.Event(), threading.Event()

    def end() -> None:
        with ending._stopping:
            is_held.set()
            is_over.wait()

    thread = threading.Thread(target=end)
    thread.start()
    is_held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # where it waits for that thread it ends by this
        kg.disable_profiler()
        os._exit(0)
    is_over.set()
    thread.join()
    kg.disable_profiler()
    return {"status": os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}


def session_of_kinds(target: str) -> object:
    state = kg.ProfilerState[target.upper()]
    kg.enable_profiler(kg.ProfilerConfig(state), scopes={kg.RecordScope.FUNCTION})
    kg.enable_profiler(kg.ProfilerConfig(state), scopes={kg.RecordScope.BACKWARD_FUNCTION})
    for kind in ("FUNCTION", "USER_SCOPE", "BACKWARD_FUNCTION"):
        with kg.scope(kind, kind=kg.RecordScope[kind]):
            kg.mark(f"in {kind}")
    kg.disable_profiler()
    with kg.scope("late", kind=kg.RecordScope.BACKWARD_FUNCTION):
        pass
    with warnings.catch_warnings(record=True) as caught, kg.scope("not sent", color="no such color"):
        warnings.simplefilter("always")
    kg.disable_profiler()
    return {"is_emitting": _native.is_emitting(), "warnings": len(caught)}


def forks_after_the_end(target: str) -> object:
    """While another thread is still in a scope, which nobody will end in the child."""
    begun, over = threading.Event(), threading.Event()

    def work() -> None:
        with kg.scope("long"):
            begun.set()
            over.wait()

    thread = threading.Thread(target=work)
    with emission(target):
        thread.start()
        begun.wait()
    child = os.fork()
    if child == 0:
        os._exit(3 if _native.is_emitting() else 0)
    over.set()
    thread.join()
    return {"status": os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}


def beside_a_recording(target: str) -> object:
    with kg.profile() as profile, emission(target), kg.scope("both", payload=1):
        kg.mark("moment")
    return {"recorded": sorted(event.name for event in profile.trace.events)}


def to_our_own_recording(target: str) -> object:
    interface = kg.nvtx if target == "nvtx" else kg.itt
    interface.install()
    with kg.profile() as profile, emission(target), kg.scope("scope", payload=1):
        is_emitting = _native.is_emitting()
        kg.mark("mark")
        interface.range_push("the program's", domain="kinetograph")
        interface.mark("kinetograph", domain="kinetograph")
        interface.range_pop("kinetograph")
    traces = [profile.trace]
    with tempfile.TemporaryDirectory() as folder:
        for path in (os.path.join(folder, name) for name in ("trace.json", "trace.pftrace")):
            profile.trace.save(path)
            traces.append(kg.load(path))
    recorded = [[[event.name, event.category] for event in trace.events] for trace in traces]
    return {"is_emitting": is_emitting, "recorded": recorded}


def both_tools(_target: str) -> object:
    with kg.emit_nvtx(), kg.scope("nvtx only"), kg.emit_itt(), kg.scope("both"):
        pass
    return {}


def session(target: str) -> object:
    state = kg.ProfilerState[target.upper()]
    kg.enable_profiler(kg.ProfilerConfig(state), {kg.ActivityType.CPU})
    records = _native.is_recording()
    with kg.scope("session"):
        pass
    result = kg.disable_profiler()
    with kg.scope("after"):
        pass
    return {
        "records": records,
        "events": len(result.events),
        "notes": [note.text for note in result.trace.notes if note.kind == "emission"],
        "is_emitting": _native.is_emitting(),
    }


def too_many_names(target: str) -> object:
    with emission(target):
        for number in range(32_800):
            kg.mark(f"n{number}")
        with kg.scope("beyond"):
            pass
    return {}


def outer() -> None:
    with kg.scope("scope"):
        inner(1)


def inner(depth: int) -> None:
    if depth > 0:
        inner(depth - 1)
    else:
        list(numbers())
        with contextlib.suppress(ValueError):
            raises()


def numbers() -> Iterator[int]:
    yield 1


def raises() -> None:
    raise ValueError


def calls(target: str) -> object:
    """In this thread, and in one that starts within the block; afterwards nothing is left of that."""

    def work() -> None:
        outer()
        reached.set()
        over.wait()
        outer()

    reached, over = threading.Event(), threading.Event()
    thread = threading.Thread(target=work)
    with emission(target, with_calls=True):
        outer()
        thread.start()
        tid = thread.native_id
        reached.wait()
    left = [_native.follows_calls_here(), threading.getprofile() is not None]
    outer()
    over.set()
    thread.join()
    while _native.is_emitting():
        time.sleep(0.001)
    return {"tid": tid, "main": threading.get_native_id(), "left": left}


def stopped_further_in(target: str) -> object:
    """Calls that are open when it stops still end, and then the profile function is gone."""
    block = emission(target, with_calls=True)

    def stops() -> None:
        block.stop()

    def around() -> None:
        stops()

    block.start()
    around()
    return {"left": _native.follows_calls_here(), "is_emitting": _native.is_emitting()}


def taken_over(target: str) -> object:
    """By a profiler that starts and ends within the block: calls are not sent behind that."""

    def takes_over() -> None:
        sys.setprofile(lambda *_event: None)
        sys.setprofile(None)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with emission(target, with_calls=True):
            takes_over()
            outer()
    with emission(target), kg.scope("behind"):
        pass
    return {"told": [str(each.message) for each in told], "is_emitting": _native.is_emitting()}


def beside_another_profiler(target: str) -> object:
    sys.setprofile(lambda *_event: None)
    try:
        with emission(target, with_calls=True):
            pass
    except kg.StateError as error:
        refusal = str(error)
    sys.setprofile(None)
    return {"refusal": refusal, "is_emitting": _native.is_emitting()}


def nvtx_api(_target: str) -> object:
    nvtx = kg.nvtx
    levels = [nvtx.range_push("plain"), nvtx.range_push("rich", "#102030", None, "kind", 7)]
    levels += [nvtx.range_pop(), nvtx.range_pop()]
    data = nvtx.domain("data")
    handle = data.string_handle("kept")
    with nvtx.range(handle, domain=data, color=0x80FF0000, category=9, payload=1.5):
        data.mark("point", category="kind")
    crossing = nvtx.range_start("crossing", domain="data")
    thread = threading.Thread(target=nvtx.range_end, args=(crossing, "data"))
    thread.start()
    thread.join()
    nvtx.mark("alone")
    nvtx.name_thread("worker")
    decorated = nvtx.range("function")(len)
    return {
        "levels": levels,
        "is_listening": nvtx.is_listening(),
        "is_available": nvtx.is_available(),
        "crossing": crossing,
        "length": decorated([1, 2]),
    }


def nvtx_odd_arguments(_target: str) -> object:
    import numpy

    class Name(str):
        pass

    kg.nvtx.mark(Name("name"))
    kg.nvtx.mark("\udc80")
    kg.nvtx.mark("numbers", payload=numpy.int32(-3))
    kg.nvtx.mark("numbers", payload=numpy.float32(0.5))
    return None


def itt_api(_target: str) -> object:
    itt = kg.itt
    itt.range_push("plain")
    itt.range_push("rich", "data", 7)
    itt.range_pop("data")
    itt.range_pop()
    handle = itt.string_handle("kept")
    with itt.range(handle, payload=1.5):
        itt.mark("point")
    crossing = itt.range_start("crossing", domain="data", payload=2**63)
    thread = threading.Thread(target=itt.range_end, args=(crossing, "data"))
    thread.start()
    thread.join()
    itt.range_push("unseen", "switched off")
    itt.range_pop("switched off")
    itt.name_thread("worker")
    itt.pause()
    itt.resume()
    itt.detach()
    return {"is_listening": itt.is_listening(), "is_available": itt.is_available(), "crossing": crossing}


def jit_api(_target: str) -> object:
    itt = kg.itt
    first = itt.jit_method_loaded("kernel", 0x7F0000001000, 64, "kernel.py", [(16, 3), (64, 4)])
    second = itt.jit_method_loaded("other", 0x7F0000002000, 32)
    return {
        "is_active": itt.jit_is_active(),
        "methods": [first, second],
        "unloaded": itt.jit_method_unloaded(first),
    }


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](sys.argv[2])))

"""Count the calls of every program of `calling`, then record them: prints both, as JSON.

argv: whether to look at Python functions or C functions, "python" or "c".
"""

from __future__ import annotations

import gc
import json
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FrameType, MethodDescriptorType
from typing import Any

import calling

import kinetograph as kg

OWN = Path(calling.__file__).name
C_CALLS = sys.argv[1] == "c"

# One call: who made it, of what. A Python function stands for itself in both places.
Call = tuple[str, str]
# The same as the counters see it; "" for a Python function. Names of C functions only: to keep the function
# is to keep the object whose method it is.
Seen = list[tuple[CodeType, str]]


def begin() -> None:
    """Marks where a program begins, in what was counted and in what was recorded."""


def end() -> None:
    """Marks where it ends."""


def between_marks(run: Callable[[], object]) -> None:
    begin()
    run()
    end()


# Counting, by what the interpreter offers to Python


def name_of_code(code: CodeType) -> str:
    return f"{Path(code.co_filename).name}({code.co_firstlineno}): {code.co_name}"


def name_of_builtin(function: Any) -> str:
    if isinstance(function, MethodDescriptorType):
        return f"{function.__objclass__.__name__}.{function.__name__}"
    owner = function.__self__
    is_function = owner is None or isinstance(owner, type(sys))
    return function.__name__ if is_function else f"{type(owner).__name__}.{function.__name__}"


@contextmanager
def profile_function(seen: Seen) -> Iterator[None]:
    def hook(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            seen.append((frame.f_code, ""))
        elif event == "c_call" and C_CALLS:
            seen.append((frame.f_code, name_of_builtin(argument)))

    threading.setprofile(hook)
    sys.setprofile(hook)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@contextmanager
def monitoring(seen: Seen) -> Iterator[None]:
    monitoring = sys.monitoring
    events, tool = monitoring.events, monitoring.PROFILER_ID

    def on_code(code: CodeType, *_: object) -> None:
        seen.append((code, ""))

    def on_call(code: CodeType, offset: int, function: object, *_: object) -> None:
        if isinstance(function, (BuiltinFunctionType, MethodDescriptorType)):
            seen.append((code, name_of_builtin(function)))

    callbacks = {events.PY_START: on_code, events.PY_RESUME: on_code, events.PY_THROW: on_code}
    if C_CALLS:
        callbacks[events.CALL] = on_call
    monitoring.use_tool_id(tool, "counter")
    for event, callback in callbacks.items():
        monitoring.register_callback(tool, event, callback)
    monitoring.set_events(tool, sum(callbacks))
    try:
        yield
    finally:
        monitoring.set_events(tool, 0)
        for event in callbacks:
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)


def counted(run: Callable[[], object]) -> list[Call]:
    seen: Seen = []
    with profile_function(seen) if sys.version_info < (3, 12) else monitoring(seen):
        between_marks(run)
    window = seen[seen.index((begin.__code__, "")) + 1 : seen.index((end.__code__, ""))]
    if C_CALLS:
        return [(name_of_code(code), builtin) for code, builtin in window if builtin]
    return [(name_of_code(code), name_of_code(code)) for code, _ in window]


# Recording


def record(run: Callable[[], object]) -> tuple[kg.Trace, list[str]]:
    """The trace, and the functions that were open when it ended, outermost first."""
    config = kg.ProfilerConfig(with_stack=True, calls=kg.CallOptions(c_calls=C_CALLS))
    kg.enable_profiler(config, {kg.ActivityType.CPU}, all_threads=True)
    between_marks(run)
    trace = kg.disable_profiler().trace
    return trace, open_functions()


def open_functions() -> list[str]:
    names = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        names.insert(0, name_of_code(frame.f_code))
        frame = frame.f_back
    return names


def calls_in(trace: kg.Trace) -> list[kg.Event]:
    functions = [event for event in trace.events if event.category == "python_function"]
    return [event for event in functions if event.name != "Python GC"]


def shown(event: kg.Event) -> str:
    """The name of an event as the counters spell it."""
    method = re.fullmatch(r"<built-in method (\S+) of (\S+) object>", event.name)
    if method:
        return f"{method[2].rpartition('.')[2]}.{method[1]}"
    function = re.fullmatch(r"<built-in function (\S+)>", event.name)
    return function[1] if function else event.name.rpartition("/")[2]


def recorded(calls: list[kg.Event]) -> list[Call]:
    marks = {
        event.name.rpartition(" ")[2]: event for event in calls if shown(event).startswith("call_counts")
    }
    first, last = marks["begin"].end_ns, marks["end"].start_ns
    window = [event for event in calls if first <= event.start_ns < last and event.finished]
    if not C_CALLS:
        return [(shown(event), shown(event)) for event in window]
    return [(caller_of(event), shown(event)) for event in window if event.name.startswith("<built-in")]


def caller_of(event: kg.Event) -> str:
    return "?" if event.parent is None else shown(event.parent)


def all_nest(events: list[kg.Event]) -> bool:
    """Whether what begins inside another one of its thread ends inside it."""
    by_track: dict[int, list[kg.Event]] = {}
    for event in events:
        by_track.setdefault(int(event.trace.columns["track"][event.row]), []).append(event)
    return all(nest(track) for track in by_track.values())


def nest(events: list[kg.Event]) -> bool:
    ends: list[int] = []
    for event in sorted(events, key=lambda event: (event.start_ns, event.row)):
        while ends and ends[-1] <= event.start_ns:
            ends.pop()
        if ends and event.end_ns > ends[-1]:
            return False
        ends.append(event.end_ns)
    return True


# Both


def compare(program: calling.Program) -> dict[str, Any]:
    for _ in range(2):  # what is done once only, imports and caches, is done before
        program.run()
    gc.collect()
    expected = Counter(counted(program.run))
    gc.collect()
    trace, open_at_end = record(program.run)
    calls = calls_in(trace)
    got = Counter(recorded(calls))
    differing = {
        call: (expected[call], got[call])
        for call in expected | got
        if expected[call] != got[call] and (program.everything or call[0].startswith(OWN))
    }
    return {
        "calls": sum(count for call, count in got.items() if program.everything or call[0].startswith(OWN)),
        "differing": {f"{what} called by {who}": counts for (who, what), counts in differing.items()},
        "all nest": all_nest(calls),
        "open": [shown(event) for event in calls if not event.finished],
        "open functions": open_at_end,
        "losses": [note.text for note in trace.notes if note.kind not in ("clock", "cost")],
    }


def too_deep() -> dict[str, Any]:
    trace, open_at_end = record(calling.too_deep)
    calls = calls_in(trace)
    return {
        "calls": sum(event.name.endswith(": endless") for event in calls),
        "reached": calling.Depth.reached,
        "all nest": all_nest(calls),
        "open": [shown(event) for event in calls if not event.finished],
        "open functions": open_at_end,
    }


if __name__ == "__main__":
    gc.disable()  # generators in garbage would be closed, and calls made, at any time
    found = {name: compare(program) for name, program in calling.PROGRAMS.items()}
    print(json.dumps(found | {"too_deep": too_deep()}))

"""Recording the calls of a test and finding them again."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import Any

import kinetograph as kg


def recorded(
    work: Callable[[], object], *, config: kg.ProfilerConfig | None = None, **options: Any
) -> kg.Trace:
    calls = kg.CallOptions(**options)
    kg.enable_profiler(config or kg.ProfilerConfig(with_stack=True, calls=calls), all_threads=True)
    try:
        work()
    finally:
        trace = kg.disable_profiler().trace
    return trace


def short(name: str) -> str:
    return name.rpartition("): ")[2]


def calls_in(trace: kg.Trace, path: str) -> Counter[str]:
    """How often each function of this file was called, by its short name."""
    here = os.path.basename(path)
    return Counter(
        short(event.name)
        for event in trace.events
        if event.is_python_function and here in event.name and event.finished and not event.is_resumed
    )


def runs_of(trace: kg.Trace, name: str) -> list[kg.Event]:
    return [event for event in trace.events if short(event.name) == name]


def missing(trace: kg.Trace) -> list[str]:
    """What the trace says was not seen."""
    return [note.text for note in trace.notes if note.kind == "missing"]

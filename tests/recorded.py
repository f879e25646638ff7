"""Recording a window in a test and reading it back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import kinetograph as kg
from kinetograph.analysis.tree import EventNode, event_tree
from kinetograph.session.recording import Session

Tree = list[tuple[str, "Tree"]]


def start(all_threads: bool = True, scopes: Iterable[object] = (), **options: Any) -> Session:
    """A session with these RecordOptions."""
    config = kg.ProfilerConfig(recording=kg.RecordOptions(**options))
    return Session.start(config, {kg.ActivityType.CPU}, scopes, all_threads)


class Window:
    """`trace` is there when the block of `recording` has ended."""

    trace: kg.Trace


@contextmanager
def recording(all_threads: bool = True, **options: Any) -> Iterator[Window]:
    window = Window()
    session = start(all_threads, **options)
    try:
        yield window
    finally:
        window.trace = session.stop()


def names(trace: kg.Trace) -> list[str]:
    table = trace.names
    return [table[name] for name in trace.columns["name"].tolist()]


def by_name(trace: kg.Trace) -> dict[str, kg.Event]:
    """The events, each of which must have a name of its own."""
    found = {event.name: event for event in trace.events}
    assert len(found) == len(trace), names(trace)
    return found


def tree(trace: kg.Trace) -> Tree:
    """Names as they nest."""

    def below(nodes: list[EventNode]) -> Tree:
        return [(node.event.name, below(node.children)) for node in nodes]

    return below(event_tree(trace))


def notes(trace: kg.Trace, kind: str) -> list[str]:
    return [note.text for note in trace.notes if note.kind == kind]

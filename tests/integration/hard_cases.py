"""What the tests of hard cases share: recording a window, reading it back, and running a program of `programs/`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import kinetograph as kg
from kinetograph.analysis.tree import EventNode, event_tree
from kinetograph.session.recording import Session

PROGRAMS = Path(__file__).parent / "programs"

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


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(0.001)


def run_program(name: str, *args: object, expect: int = 0, timeout: float = 300, **variables: str) -> Any:
    """Run `programs/NAME.py` and give what it printed last, as JSON; None if it printed nothing."""
    result = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(PROGRAMS / f"{name}.py"), *map(str, args)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=os.environ | variables,
    )
    told = f"{name} {args}: exit status {result.returncode}\n{result.stdout[-2000:]}{result.stderr[-4000:]}"
    assert result.returncode == expect, told
    assert "Fatal Python error" not in result.stderr, told
    lines = result.stdout.splitlines()
    return json.loads(lines[-1]) if lines else None

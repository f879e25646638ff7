"""Rounds of many short threads, each in one session of all threads."""

from __future__ import annotations

import json
import sys
import threading
import time

from resident import resident_bytes

import kinetograph as kg
from kinetograph import _native
from kinetograph.session.recording import Session

THREADS, ROUNDS, TOGETHER = int(sys.argv[1]), int(sys.argv[2]), 50


def work(number: int) -> None:
    with kg.scope("thread"):
        with kg.scope("inner"):
            kg.mark("mark")
        kg.counter("number", number)


def one_round() -> dict[str, int]:
    session = Session.start(kg.ProfilerConfig())
    for first in range(0, THREADS, TOGETHER):
        threads = [threading.Thread(target=work, args=(first + i,), name="short") for i in range(TOGETHER)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    trace = session.stop()
    values = sorted(event.value for event in trace.events if event.name == "number")
    return {
        "events": len(trace),
        "tracks": len(trace.tracks),
        "each_thread_once": values == list(range(THREADS)),
        "nested": int((trace.columns["parent"] >= 0).sum()),
        "losses": sum(note.kind not in ("clock", "cost") for note in trace.notes),
    }


def after_round() -> dict[str, int]:
    deadline = time.monotonic() + 30  # join() returns a moment before the thread is gone
    while _native.thread_count() > 1 and time.monotonic() < deadline:
        time.sleep(0.001)
    return {
        "threads": _native.thread_count(),
        "memory": _native.memory_bytes(),
        "strings": _native.string_count(),
        "resident": resident_bytes(),
    }


print(json.dumps([one_round() | after_round() for _ in range(ROUNDS)]))

"""Threads that never stop recording, while sessions start and stop around them."""

from __future__ import annotations

import json
import sys
import threading
import time

import numpy as np

import kinetograph as kg
from kinetograph.session.recording import Session

THREADS, SESSIONS = int(sys.argv[1]), int(sys.argv[2])
done = threading.Event()
rounds = [0] * THREADS


def work(number: int) -> None:
    while not done.is_set():
        rounds[number] += 1
        with kg.scope("outer"):
            with kg.scope("first"):
                pass
            with kg.scope("second"):
                pass
        time.sleep(0)  # or one thread would have the interpreter to itself for long


def what_is_wrong(trace: kg.Trace) -> list[str]:
    """Each thread repeats outer(first, second); its first round may be cut, its last be open."""
    wrong = []
    start_ns, duration_ns, flags, track, depth, name = (
        trace.columns[column] for column in ("start_ns", "duration_ns", "flags", "track", "depth", "name")
    )
    end_ns = start_ns + duration_ns
    if (start_ns < trace.start_ns).any() or (end_ns > trace.end_ns).any():
        wrong.append("an event is outside of the window")
    unfinished = flags & 1 == 1
    if (end_ns[unfinished] != trace.end_ns).any():
        wrong.append("an unfinished event has an end")
    table = trace.names
    for each in np.unique(track):
        rows = np.flatnonzero(track == each)
        first_outer = next((i for i, row in enumerate(rows) if table[name[row]] == "outer"), len(rows))
        is_outer = np.array([table[name[row]] == "outer" for row in rows[first_outer:]], dtype=bool)
        if (is_outer != (depth[rows[first_outer:]] == 0)).any():
            wrong.append("a scope is not where it was")
        still_open = [table[name[row]] for row in rows if unfinished[row]]
        if still_open not in ([], ["outer"], ["outer", "first"], ["outer", "second"], ["first"], ["second"]):
            wrong.append(f"open at the end: {still_open}")
    return wrong


sys.setswitchinterval(1e-5)
threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
events, wrong = 0, []
for _ in range(SESSIONS):
    session = Session.start(kg.ProfilerConfig())
    enough = sum(rounds) + 3 * THREADS
    while sum(rounds) < enough:
        time.sleep(0)
    trace = session.stop()
    events += len(trace)
    wrong += what_is_wrong(trace)
done.set()
for thread in threads:
    thread.join()
print(json.dumps({"events": events, "wrong": wrong[:10]}))

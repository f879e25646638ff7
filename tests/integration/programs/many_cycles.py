"""Run many cycles of one profile, and tell what stays resident after a tenth of them and at the end."""

from __future__ import annotations

import json
import os
import sys
import warnings

from resident import resident_bytes

import kinetograph as kg
from kinetograph import _native

CYCLES = int(sys.argv[1])
traces = events = 0


def count(prof: kg.profile) -> None:
    global traces, events
    traces += 1
    events += len(prof.events())


def some_cycles(prof: kg.profile, count: int) -> int:
    for _ in range(3 * count):
        with kg.scope("work"):
            kg.mark("inside")
        prof.step()
    return resident_bytes()


warnings.simplefilter("ignore")
steps = kg.schedule(wait=1, warmup=1, active=1)
with kg.profile(schedule=steps, on_trace_ready=count) as profile:
    after_a_tenth = some_cycles(profile, CYCLES // 10)
    descriptors = len(os.listdir("/proc/self/fd"))
    growth = some_cycles(profile, CYCLES - CYCLES // 10) - after_a_tenth
print(
    json.dumps(
        {
            "traces": traces,
            "events": events,
            "growth": growth,
            "descriptors": len(os.listdir("/proc/self/fd")) - descriptors,
            "strings": _native.string_count(),
        }
    )
)

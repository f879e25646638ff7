"""Start and stop sessions, and tell what stays resident after a tenth of them and at the end."""

from __future__ import annotations

import json
import sys
import threading

from resident import resident_bytes

import kinetograph as kg
from kinetograph import _native

SESSIONS, OPTIONS = int(sys.argv[1]), json.loads(sys.argv[2])
config = kg.ProfilerConfig(recording=kg.RecordOptions(**OPTIONS))
descriptors = []


def count_descriptors() -> int:
    import os

    return len(os.listdir("/proc/self/fd"))


def some_sessions(count: int) -> int:
    events = 0
    for number in range(count):
        kg.enable_profiler(config, all_threads=number % 2 == 0)
        with kg.scope("work"):
            kg.mark("inside")
        events += len(kg.disable_profiler().events)
    return events


idle = threading.Event()
bystander = threading.Thread(target=lambda: (kg.mark("known to the recorder"), idle.wait()))
bystander.start()
events = some_sessions(SESSIONS // 10)
after_a_tenth, descriptors_before = resident_bytes(), count_descriptors()
events += some_sessions(SESSIONS - SESSIONS // 10)
idle.set()
bystander.join()
print(
    json.dumps(
        {
            "events": events,
            "growth": resident_bytes() - after_a_tenth,
            "descriptors": count_descriptors() - descriptors_before,
            "memory": _native.memory_bytes(),
            "strings": _native.string_count(),
        }
    )
)

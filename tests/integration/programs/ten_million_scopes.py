"""Record many scopes under a small ceiling, stop and write; tell how far memory rose above where it began."""

from __future__ import annotations

import json
import os
import sys

import numpy  # noqa: F401  (so that it counts as where we began)
from resident import peak_bytes, resident_bytes

import kinetograph as kg

COUNT, LIMIT, PATH = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
kg.enable_profiler()  # everything that is imported late is now there
kg.mark("warm")
kg.disable_profiler().save(PATH)

options = kg.RecordOptions(memory_limit_bytes=LIMIT, directory=os.path.dirname(PATH))
scope = kg.scope("step")
baseline = resident_bytes()
with open("/proc/self/clear_refs", "w") as file:  # forget the peak so far
    file.write("5")
kg.enable_profiler(kg.ProfilerConfig(recording=options))
for _ in range(COUNT):
    with scope:
        pass
recorded_peak = peak_bytes() - baseline
result = kg.disable_profiler()
stopped_peak = peak_bytes() - baseline
result.save(PATH)
written_peak = peak_bytes() - baseline
events = len(result.trace)
notes = [note.text for note in result.trace.notes if note.kind not in ("clock", "cost")]
del result
print(
    json.dumps(
        {
            "events": events,
            "notes": notes,
            "recorded_peak": recorded_peak,
            "stopped_peak": stopped_peak,
            "written_peak": written_peak,
            "left": resident_bytes() - baseline,
        }
    )
)

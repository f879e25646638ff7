"""Record more than fits into memory and the spill directory together, then write elsewhere."""

from __future__ import annotations

import json
import sys

import kinetograph as kg

COUNT, SPILL, PATH = int(sys.argv[1]), sys.argv[2], sys.argv[3]
CRASH_SAFE = len(sys.argv) > 4

options = kg.RecordOptions(memory_limit_bytes=16 << 20, directory=SPILL, crash_safe=CRASH_SAFE)
kg.enable_profiler(kg.ProfilerConfig(recording=options))
for number in range(COUNT):
    kg.counter("number", number)
trace = kg.disable_profiler().trace
trace.save(PATH)
values = [event.value for event in kg.load(PATH).events]
kg.enable_profiler()  # and the next session is none the worse
kg.mark("afterwards")
print(
    json.dumps(
        {
            "kept": len(values),
            "kept_are_the_oldest": values == list(range(len(values))),
            "dropped": [note.text for note in trace.notes if note.kind == "dropped"],
            "later": [event.name for event in kg.disable_profiler().events],
        }
    )
)

"""More distinct names than a small memory limit has room for, and then a session that is well within it."""

from __future__ import annotations

import json
import sys
from typing import Any

import kinetograph as kg

COUNT = int(sys.argv[1])


def session(first: int, count: int, limit_bytes: int) -> kg.Trace:
    kg.enable_profiler(kg.ProfilerConfig(recording=kg.RecordOptions(memory_limit_bytes=limit_bytes)))
    for number in range(first, first + count):
        with kg.scope(f"name {number}"):
            pass
    return kg.disable_profiler().trace


def notes(trace: kg.Trace) -> list[str]:
    return [note.text for note in trace.notes if note.kind not in ("clock", "cost", "spill")]


trace = session(0, COUNT, 16 << 20)
table = trace.names
kept = sum(table[name].startswith("name ") for name in trace.columns["name"].tolist())
later = session(COUNT - 1, 1, 1 << 30)
told: dict[str, Any] = {"events": len(trace), "notes": notes(trace), "kept": kept}
told["later"] = {"notes": notes(later), "names": [event.name for event in later.events]}
print(json.dumps(told))

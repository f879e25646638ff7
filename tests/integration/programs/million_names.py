"""One million distinct names in one session: recorded, written, read back."""

from __future__ import annotations

import json
import sys

from resident import resident_bytes

import kinetograph as kg
from kinetograph import _native

COUNT, PATH = int(sys.argv[1]), sys.argv[2]


def one_round() -> kg.Trace:
    kg.enable_profiler()
    for number in range(COUNT):
        with kg.scope(f"name {number}"):
            pass
    return kg.disable_profiler().trace


trace = one_round()
names = trace.names
in_order = all(names[name] == f"name {i}" for i, name in enumerate(trace.columns["name"].tolist()))
trace.save(PATH)
events, losses = len(trace), [note.text for note in trace.notes if note.kind not in ("clock", "cost")]
del trace, names
loaded = kg.load(PATH)
table = loaded.names
same = [table[name] for name in loaded.columns["name"].tolist()] == [f"name {i}" for i in range(COUNT)]
del loaded, table
kept, after_first = _native.string_count(), resident_bytes()
one_round()
print(
    json.dumps(
        {
            "events": events,
            "in_order": in_order,
            "losses": losses,
            "loaded_same": same,
            "strings_kept": kept,
            "growth": resident_bytes() - after_first,
        }
    )
)

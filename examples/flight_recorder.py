"""A ring that always holds the newest events: leave it on, and look only when something went wrong."""

import kinetograph as kg

ring = kg.RecordOptions(mode="ring", ring_bytes=1 << 20)
kg.enable_profiler(kg.ProfilerConfig(recording=ring), {kg.ActivityType.CPU})
for _ in range(200_000):
    with kg.scope("request"):
        pass
trace = kg.disable_profiler().trace

print(f"kept the newest {len(trace)} of 200000 requests")
for note in trace.notes:
    print(f"{note.kind}: {note.text}")
trace.save("flight_recorder.json.gz")

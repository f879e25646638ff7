"""The smallest profile: two scopes, a table of where the time went, and a file."""

import kinetograph as kg

kg.enable_profiler()
with kg.scope("load"):
    rows = [str(number) for number in range(20_000)]
with kg.scope("parse", rows=len(rows)):
    total = sum(map(int, rows))
result = kg.disable_profiler()

for event in result.events:
    print(f"{event.name:6} {event.duration_ns / 1e6:6.2f} ms {event.args}")
result.save("first_trace.json.gz")

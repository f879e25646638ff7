"""Reports of a finished recording."""

import kinetograph as kg
from kinetograph.analysis.averages import Average, Averages

kg.enable_profiler()
result = kg.disable_profiler()
averages: Averages = result.key_averages(group_by_input_shape=True)
text: str = averages.table(sort_by="cpu_time_total", row_limit=10)
rows: list[Average] = list(averages)
times: list[float] = [row.cpu_time_total for row in rows]
slow: Averages = averages.sort("self_cpu_time_total")[:3]
event: kg.Event | None = result.events[0].cpu_parent if result.events else None

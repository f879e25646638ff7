"""Fork when a session is over: Python warns if it finds more than one thread."""

from __future__ import annotations

import json
import os
import time

import kinetograph as kg

kg.enable_profiler(all_threads=True)
for _ in range(300_000):
    kg.mark("enough to need the keeper")
kg.disable_profiler()
deadline = time.monotonic() + 5
while (threads := len(os.listdir("/proc/self/task"))) > 1 and time.monotonic() < deadline:
    time.sleep(0.001)
pid = os.fork()
if pid == 0:
    os._exit(0)
print(json.dumps({"threads": threads, "child": os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}))

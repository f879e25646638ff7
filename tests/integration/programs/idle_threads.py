"""Threads that record much in one session and then live on without recording: what stays resident?"""

from __future__ import annotations

import json
import sys
import threading

from resident import resident_bytes

import kinetograph as kg
from kinetograph.session.recording import Session

THREADS, EVENTS = int(sys.argv[1]), int(sys.argv[2])
end = threading.Event()
recorded = threading.Barrier(THREADS + 1)
begin = threading.Barrier(THREADS + 1)


def work() -> None:
    begin.wait()
    for number in range(EVENTS):
        kg.counter("number", number)
    recorded.wait()
    end.wait()


threads = [threading.Thread(target=work) for _ in range(THREADS)]
for thread in threads:
    thread.start()
Session.start(kg.ProfilerConfig()).stop()
before = resident_bytes()
session = Session.start(kg.ProfilerConfig())
begin.wait()
recorded.wait()
events = len(session.stop())
growth = resident_bytes() - before
end.set()
for thread in threads:
    thread.join()
print(json.dumps({"events": events, "growth": growth}))

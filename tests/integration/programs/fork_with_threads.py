"""Fork again and again while other threads record, start and stop: no child may hang or find a rest."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

import numpy  # noqa: F401  (what reading events imports; imported once here, not in each child)

import kinetograph as kg
from kinetograph import _native

FORKS = int(sys.argv[1])
done = threading.Event()


def record() -> None:
    number = 0
    while not done.is_set():
        number += 1
        with kg.scope(f"scope {number % 5000}"):
            pass


def start_and_stop() -> None:
    while not done.is_set():
        kg.enable_profiler(all_threads=True)
        handle = kg.add_global_callback(lambda fn: None)
        kg.remove_callback(handle)
        kg.disable_profiler()


def child() -> int:
    signal.alarm(20)  # a lock that nobody will ever open again shows as SIGALRM
    if _native.is_recording() or _native.sessions():
        return 2
    kg.enable_profiler()
    handle = kg.add_global_callback(lambda fn: None)
    with kg.scope("child"):
        kg.mark("inside")
    kg.remove_callback(handle)
    names = sorted(event.name for event in kg.disable_profiler().events)
    return 0 if names == ["child", "inside"] else 3


threads = [threading.Thread(target=target) for target in (record, record, start_and_stop)]
for thread in threads:
    thread.start()
statuses = []
sys.setswitchinterval(1e-5)
for _ in range(FORKS):
    pid = os.fork()
    if pid == 0:
        status = 4
        try:
            status = child()
        finally:
            os._exit(status)
    statuses.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
done.set()
for thread in threads:
    thread.join()
print(json.dumps({"failed": [status for status in statuses if status != 0], "children": len(statuses)}))

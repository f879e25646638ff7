"""End in the way the first argument says, while a session runs."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading

import kinetograph as kg

HOW = sys.argv[1]
PATH = sys.argv[2] if len(sys.argv) > 2 else None

if HOW == "atexit":  # registered before ours, so it runs after the trace was written
    atexit.register(lambda: kg.mark("after the end"))
kg.enable_profiler(kg.ProfilerConfig(recording=kg.RecordOptions(path=PATH)), all_threads=True)
with kg.scope("finished"):
    kg.mark("inside")
kg.scope("still open").__enter__()

if HOW == "sys.exit":
    sys.exit(3)
if HOW == "exception":
    raise ValueError("unhandled")
if HOW == "interrupt":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background has it ignored
    os.kill(os.getpid(), signal.SIGINT)
if HOW == "os._exit":
    os._exit(0)
if HOW == "twice":
    kg.disable_profiler().save(PATH)
    kg.enable_profiler()
    kg.mark("a second session without a path")
if HOW == "daemon":
    recorded = threading.Event()

    def record() -> None:
        while True:
            with kg.scope("daemon"):
                pass
            recorded.set()

    for _ in range(4):
        threading.Thread(target=record, daemon=True).start()
    recorded.wait()
if HOW == "daemon sessions":
    stopped = threading.Event()

    def start_and_stop() -> None:
        while True:
            kg.enable_profiler(all_threads=True)
            with kg.scope("daemon"):
                pass
            kg.disable_profiler()
            stopped.set()

    for _ in range(3):
        threading.Thread(target=start_and_stop, daemon=True).start()
    stopped.wait()
if HOW == "thread":
    threading.Thread(target=lambda: kg.mark("thread"), name="late").start()
if HOW == "bad path":
    os.rmdir(os.path.dirname(PATH))

"""Ends while it is sampled and daemon threads run: in the way that the argument says."""

import os
import signal
import sys
import threading

from tests.sampled import start, wait_for_rounds

import kinetograph as kg


def works_for_ever() -> None:
    while True:
        sum(range(1000))


def main() -> None:
    way, directory = sys.argv[1:]
    crash_safe = way == "kill"
    options = kg.RecordOptions(crash_safe=crash_safe, directory=directory if crash_safe else None)
    start(recording=options, sample_hz=5000)
    for _ in range(3):
        threading.Thread(target=works_for_ever, daemon=True).start()
    wait_for_rounds(20)
    if way == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if way == "_exit":
        os._exit(0)
    if way == "raise":
        raise SystemExit(0)


main()

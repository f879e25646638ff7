"""Fork children that record, end each at a random moment, and compare what is recovered with what they did.

Each thread of a child counts in shared memory the scopes that ended, after an end and before the next begin.
So `count` scopes must be in the trace; one more may be, which had ended but was not yet counted.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

import numpy

import kinetograph as kg
from kinetograph.session.recording import Session
from kinetograph.session.recover import recover_file

HOW, CHILDREN, THREADS, DIRECTORY = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
SESSIONS_BEFORE = int(sys.argv[5]) if len(sys.argv) > 5 else 0
chance = random.Random(f"{HOW} {THREADS}")
shared = mmap.mmap(-1, 4096)
counts = memoryview(shared).cast("Q")


def record(thread: int) -> None:
    number = 0
    with kg.scope(f"open {thread}"):
        while True:
            with kg.scope(f"step {thread} {number}"):
                kg.mark("inside")
                if number % 3 == 0:
                    with kg.scope("detailed", number=number, text="x" * (number % 200)):
                        pass
            number += 1
            counts[thread] = number


def child(directory: Path, delay_s: float) -> None:
    config = kg.ProfilerConfig(recording=kg.RecordOptions(crash_safe=True, directory=directory))
    for _ in range(SESSIONS_BEFORE):
        earlier = Session.start(config)
        kg.mark("of an earlier session")
        earlier.stop()
    session = Session.start(config)
    threads = [threading.Thread(target=record, args=(i,), daemon=True) for i in range(1, THREADS)]
    if HOW != "kill":
        threads.append(threading.Thread(target=end_later, args=(delay_s,), daemon=True))
    for thread in threads:
        thread.start()
    assert session.is_running
    record(0)


def end_later(delay_s: float) -> None:
    wait_for_steps()
    time.sleep(delay_s)
    if HOW == "_exit":
        os._exit(0)
    os.execv("/bin/true", ["true"])


def wait_for_steps() -> None:
    deadline = time.monotonic() + 30
    while not all(counts[i] for i in range(THREADS)):
        assert time.monotonic() < deadline
        time.sleep(0.0002)


def run_child(directory: Path) -> list[int]:
    """The counts of the threads when the child was gone."""
    for i in range(THREADS):
        counts[i] = 0
    delay_s = chance.uniform(0, 0.008)
    pid = os.fork()
    if pid == 0:
        sys.setswitchinterval(1e-4)
        try:
            child(directory, delay_s)
        finally:
            os._exit(99)
    if HOW == "kill":
        wait_for_steps()
        time.sleep(delay_s)
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL), status
    return [counts[i] for i in range(THREADS)]


def what_is_wrong(trace: kg.Trace, ended: list[int]) -> list[str]:
    table, name_of = trace.names, trace.columns["name"].tolist()
    finished = (trace.columns["flags"] & 1 == 0).tolist()
    finished_names = {table[name] for name, is_finished in zip(name_of, finished, strict=True) if is_finished}
    unfinished = sorted(
        table[name] for name, is_finished in zip(name_of, finished, strict=True) if not is_finished
    )
    wrong = []
    for thread, count in enumerate(ended):
        lost = [i for i in range(count) if f"step {thread} {i}" not in finished_names]
        if lost:
            wrong.append(f"thread {thread} lost {len(lost)} of {count}, first {lost[0]}")
        seen = sum(name.startswith(f"step {thread} ") for name in finished_names)
        if seen > count + 1:
            wrong.append(f"thread {thread} has {seen} steps, but only {count} had ended")
        if unfinished.count(f"open {thread}") != 1:
            wrong.append(f"open {thread} is {unfinished.count(f'open {thread}')} times unfinished")
    # Besides the outermost one, a thread was in at most one step and one detail of it.
    if len(unfinished) > 3 * THREADS:
        wrong.append(f"unfinished: {unfinished[:10]}")
    if "of an earlier session" in finished_names:
        wrong.append("an event of an earlier session is there")
    times = numpy.stack([trace.columns["start_ns"], trace.columns["duration_ns"]])
    now = time.time_ns()
    if len(trace) and (times[0].min() < now - 120e9 or times[0].max() > now or times[1].min() < 0):
        wrong.append("times are off")
    return wrong


wrong, steps = [], []
for number in range(CHILDREN):
    directory = DIRECTORY / str(number)
    ended = run_child(directory)
    steps.append(sum(ended))
    files = list(directory.glob("*.kgsession"))
    if len(files) != 1:
        wrong.append(f"child {number}: {files}")
        continue
    wrong += [f"child {number}: {each}" for each in what_is_wrong(recover_file(files[0]), ended)]
    files[0].unlink()
print(json.dumps({"children": CHILDREN, "steps": sum(steps), "fewest": min(steps), "wrong": wrong[:10]}))

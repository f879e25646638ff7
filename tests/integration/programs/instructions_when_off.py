"""Count the instructions of an idle scope before the first session and after the last."""

from __future__ import annotations

import ctypes
import json
import os
import struct

import kinetograph as kg

PERF_EVENT_OPEN, HARDWARE, INSTRUCTIONS = 298, 0, 1  # x86-64
EXCLUDE_KERNEL_AND_HYPERVISOR = 1 << 5 | 1 << 6


def open_counter() -> int:
    attributes = struct.pack("IIQQQQQ", HARDWARE, 112, INSTRUCTIONS, 0, 0, 0, EXCLUDE_KERNEL_AND_HYPERVISOR)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(PERF_EVENT_OPEN, attributes.ljust(112, b"\0"), 0, -1, -1, 0)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return descriptor


def instructions(counter: int) -> int:
    def once() -> int:
        before = struct.unpack("Q", os.read(counter, 8))[0]
        for _ in range(10_000):
            with kg.scope("idle"):
                pass
        return struct.unpack("Q", os.read(counter, 8))[0] - before

    return min(once() for _ in range(10))


try:
    counter = open_counter()
except OSError as error:
    print(json.dumps({"instructions": None, "why": str(error)}))
    raise SystemExit from None
before = instructions(counter)
for _ in range(3):
    kg.enable_profiler(all_threads=True)
    for number in range(20_000):
        with kg.scope(f"name {number}"):
            pass
    kg.disable_profiler()
print(json.dumps({"instructions": [before, instructions(counter)]}))

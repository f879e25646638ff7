"""Recover a session file again and again, each time damaged differently."""

from __future__ import annotations

import json
import random
import re
import sys
from pathlib import Path

import numpy as np

from kinetograph.errors import KinetographError
from kinetograph.session.recover import recover_file

HOW, TIMES, WHOLE, TARGET = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])
chance = random.Random(HOW)
whole = WHOLE.read_bytes()
# Most of the file is still empty; damage there would be none.
written = np.flatnonzero(np.frombuffer(whole, dtype=np.uint8)).tolist()


def flipped() -> bytes:
    damaged = bytearray(whole)
    for _ in range(chance.choice((1, 1, 8, 64, 1000))):
        damaged[chance.choice(written)] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def overwritten() -> bytes:
    """Whole words become extreme ones: lengths, counts and ticks that make no sense."""
    damaged = bytearray(whole)
    for _ in range(chance.choice((1, 4, 32))):
        at = chance.choice(written) & ~7
        damaged[at : at + 8] = chance.choice(
            (b"\xff" * 8, b"\0" * 8, b"\xff" * 4 + b"\0" * 4, b"\x7f" + b"\xff" * 7)
        )
    return bytes(damaged)


def truncated() -> bytes:
    return whole[: chance.choice((chance.randrange(len(whole)), chance.randrange(0, 300_000)))]


def garbage() -> bytes:
    header = whole[: chance.choice((0, 8, 65536))]
    return header + chance.randbytes(chance.randrange(0, 400_000))


make = {"flipped": flipped, "overwritten": overwritten, "truncated": truncated, "garbage": garbage}[HOW]
errors, traces, events = set(), 0, 0
for _ in range(TIMES):
    TARGET.write_bytes(make())
    try:
        trace = recover_file(TARGET)
    except KinetographError as error:
        errors.add(
            re.sub(r"version \d+,", "version N,", str(error).replace(str(TARGET), "FILE").splitlines()[0])
        )
        continue
    traces += 1
    events += len(trace)
    trace.save(TARGET.with_suffix(".json"))
    json.loads(TARGET.with_suffix(".json").read_bytes())
print(json.dumps({"traces": traces, "events": events, "errors": sorted(errors)}))

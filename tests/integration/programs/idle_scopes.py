"""Use a scope many times without a session: before the first one, or after one."""

from __future__ import annotations

import sys

import kinetograph as kg

WHEN, TIMES = sys.argv[1], int(sys.argv[2])


def use(times: int) -> None:
    for _ in range(times):
        with kg.scope("idle"):
            pass


if WHEN == "after":
    for _ in range(2):
        kg.enable_profiler(all_threads=True)
        use(2000)
        kg.disable_profiler()
use(TIMES)

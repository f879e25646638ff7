"""NVIDIA's nvtx package with no tool attached."""

import nvtx

from benchmarks.harness import Contender


def annotate(count: int) -> None:
    for _ in range(count):
        with nvtx.annotate("x"):
            pass


def contenders() -> list[Contender]:
    return [Contender("nvtx.annotate, no tool", annotate, count=5_000)]

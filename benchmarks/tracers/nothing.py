"""No tool at all: what the others' figures are worth."""

from contextlib import nullcontext

from benchmarks.traced import Traced, in_all_programs


def contenders() -> list[Traced]:
    return in_all_programs("no tool", nullcontext)

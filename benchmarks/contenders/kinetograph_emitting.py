"""Our scopes as ranges of NVTX and tasks of ITT, to a tool that does nothing, beside the bare interface."""

import os

from benchmarks.floor import load_floor, null_tool
from benchmarks.harness import Contender

# Before the first call, which is what loads the tool.
os.environ["NVTX_INJECTION64_PATH"] = os.environ["INTEL_LIBITTNOTIFY64"] = str(null_tool())

import kinetograph as kg

floor = load_floor()


def bare(count: int) -> None:
    for _ in range(count):
        with floor.bound_nvtx("x"):
            pass


def scope(count: int) -> None:
    for _ in range(count):
        with kg.scope("x"):
            pass


def push_pop(count: int) -> None:
    push, pop = kg.nvtx.range_push, kg.nvtx.range_pop
    for _ in range(count):
        push("x")
        pop()


def contenders() -> list[Contender]:
    return [
        Contender("floor: NVTX push and pop, bound once", bare),
        Contender("kg.scope emitted to NVTX", scope, kg.emit_nvtx),
        Contender("kg.scope emitted to ITT", scope, kg.emit_itt),
        Contender("kg.scope off, after emission", scope),
        Contender("kg.nvtx.range_push and range_pop", push_pop),
    ]

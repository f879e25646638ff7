"""What recording adds to training steps of real models, and whether the same kernels are seen as by torch."""

from __future__ import annotations

import os
import statistics

from benchmarks.gpu import describe_gpu
from benchmarks.gpu.models import MODELS
from benchmarks.gpu.ours import FLOOR, KERNEL_FLOOR, LAUNCH_FLOOR, NOTHING
from benchmarks.gpu.training import FIRST, KERNEL_TIME, KERNELS, UNTIED
from benchmarks.gpu.training_ours import (
    BOTH_FLOOR,
    OPERATOR_FLOOR,
    OURS,
    OURS_WITH_OPERATORS,
    OURS_WITH_STACK,
)
from benchmarks.gpu.training_torchs import TORCH, TORCH_BOTH
from benchmarks.harness import Samples, interleave
from benchmarks.report import Claim, claims_table, table

FLOORS = (KERNEL_FLOOR, LAUNCH_FLOOR, FLOOR, OPERATOR_FLOOR, BOTH_FLOOR)
ROWS = (NOTHING, *FLOORS, OURS, OURS_WITH_OPERATORS, OURS_WITH_STACK, TORCH, TORCH_BOTH)


def run(*, quick: bool) -> str:
    if quick:
        os.environ["KINETOGRAPH_BENCH_STEPS"] = "2"
    modules = ["benchmarks.gpu.training_ours", "benchmarks.gpu.training_torchs"]
    samples = interleave(modules, generations=1, rounds=2 if quick else 16)
    tables = [line for model in MODELS for line in ("", model_table(samples, model))]
    claims = [claim for model in MODELS for claim in claims_of(samples, model)]
    return "\n".join(["# Recording training steps", "", describe_gpu(), *tables, "", claims_table(claims)])


def model_table(samples: Samples, model: str) -> str:
    rows = [row(samples, model, tool) for tool in ROWS]
    return table((model, "ms per step", "quiet", "first step", "kernels", "us of kernels"), rows)


def row(samples: Samples, model: str, tool: str) -> tuple[str, ...]:
    name = f"{model}: {tool}"
    kernels = ("", "")
    if name + KERNEL_TIME in samples:
        total = sum(counts(samples, name).values())
        kernels = (f"{total:.0f}", f"{samples.median(name + KERNEL_TIME):.0f}")
    figures = samples.median(name), samples.quiet(name), samples.median(name + FIRST)
    return tool, *(f"{ms:.2f}" for ms in figures), *kernels


def counts(samples: Samples, name: str) -> dict[str, float]:
    """How often each kernel ran in one turn."""
    prefix = name + KERNELS
    return {key: statistics.median(seen) for key, seen in samples.by_name.items() if key.startswith(prefix)}


def claims_of(samples: Samples, model: str) -> list[Claim]:
    mine, theirs = f"{model}: {OURS_WITH_OPERATORS}", f"{model}: {TORCH_BOTH}"
    ours = {key.removeprefix(mine): count for key, count in counts(samples, mine).items()}
    torchs = {key.removeprefix(theirs): count for key, count in counts(samples, theirs).items()}
    differing = {kernel for kernel in ours | torchs if ours.get(kernel) != torchs.get(kernel)}
    difference = abs(samples.ratio(mine + KERNEL_TIME, theirs + KERNEL_TIME) - 1) * 100
    untied = max(samples.by_name[mine + UNTIED])
    return [
        Claim(f"{model}: kernels that torch counts otherwise", len(differing), at_most=0),
        Claim(f"{model}: kernel time off torch's by %", difference, at_most=1),
        Claim(f"{model}: kernels without a launch", untied, at_most=0),
    ]

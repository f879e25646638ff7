"""What recording CUDA adds to a launch, beside a bare client of CUPTI and torch.profiler."""

from __future__ import annotations

import os

from benchmarks.gpu import describe_gpu
from benchmarks.gpu.launch_loop import STOPPING, operations
from benchmarks.gpu.ours import (
    AFTERWARDS,
    DRIVER_FLOOR,
    FLOOR,
    KERNEL_FLOOR,
    LAUNCH_FLOOR,
    NOTHING,
    OURS,
    OURS_WITH_OPERATORS,
    OURS_WITH_SCOPES,
    SCOPE_FLOOR,
)
from benchmarks.gpu.torchs import AFTER_TORCH, TORCH, TORCH_BOTH
from benchmarks.harness import Samples, interleave
from benchmarks.report import Claim, claims_table, table

FLOORS = (KERNEL_FLOOR, LAUNCH_FLOOR, SCOPE_FLOOR, FLOOR, DRIVER_FLOOR)
OF_OURS = (OURS, OURS_WITH_SCOPES, OURS_WITH_OPERATORS, AFTERWARDS)
SHARES = {
    "kernels": KERNEL_FLOOR,
    "with launches": LAUNCH_FLOOR,
    "with scopes": SCOPE_FLOOR,
    "with calls instead": FLOOR,
}
ROWS = (NOTHING, *FLOORS, *OF_OURS, TORCH, TORCH_BOTH, AFTER_TORCH)


def run(*, quick: bool) -> str:
    if quick:
        os.environ["KINETOGRAPH_BENCH_OPERATIONS"] = "1000"
    modules = ["benchmarks.gpu.ours", "benchmarks.gpu.torchs"]
    samples = interleave(modules, generations=1, rounds=2 if quick else 30)
    header = ("us per operation", "median", "added", "quiet", "added, quiet", "stop and write, us per event")
    rows = [row(samples, name) for name in ROWS]
    title = f"# Cost of recording a CUDA launch, {operations()} of x.add_(1) on 64 elements"
    parts = (title, describe_gpu(), table(header, rows), shares(samples), claims_table(claims(samples)))
    return "\n\n".join(parts)


def shares(samples: Samples) -> str:
    """What the least of each kind takes of the time that ours may take a third of."""
    told = [f"{name} {share(samples, floor)}" for name, floor in SHARES.items()]
    return f"The floors, of torch's CPU and CUDA by quartiles (by medians): {', '.join(told)}."


def share(samples: Samples, floor: str) -> str:
    added, theirs = (samples.median(each) - samples.median(NOTHING) for each in (floor, TORCH_BOTH))
    return f"{ratio_of_added(samples, floor, TORCH_BOTH):.2f} ({added / theirs:.2f})"


def row(samples: Samples, name: str) -> tuple[str, ...]:
    figures = samples.median(name), samples.median(name) - samples.median(NOTHING), samples.quiet(name)
    stopping = f"{samples.median(name + STOPPING):.2f}" if name + STOPPING in samples else ""
    return name, *(f"{figure:.2f}" for figure in figures), f"{samples.added(name, NOTHING):.2f}", stopping


def ratio_of_added(samples: Samples, name: str, other: str) -> float:
    return samples.added(name, NOTHING) / samples.added(other, NOTHING)


def claims(samples: Samples) -> list[Claim]:
    faster = [
        Claim(
            f"stop and write: {theirs} / {mine}",
            samples.ratio(theirs + STOPPING, mine + STOPPING),
            at_least=10,
        )
        for mine, theirs in ((OURS, TORCH), (OURS_WITH_OPERATORS, TORCH_BOTH))
    ]
    return [
        Claim("added: CUDA / bare client", ratio_of_added(samples, OURS, FLOOR), at_most=1.3),
        Claim("added: CUDA / torch's CUDA", ratio_of_added(samples, OURS, TORCH), at_most=1),
        Claim(
            "added: with scopes / torch's CPU and CUDA",
            ratio_of_added(samples, OURS_WITH_SCOPES, TORCH_BOTH),
            at_most=0.333,
        ),
        Claim(
            "added: with operators / torch's CPU and CUDA",
            ratio_of_added(samples, OURS_WITH_OPERATORS, TORCH_BOTH),
            at_most=0.333,
        ),
        Claim("afterwards / before", samples.ratio(AFTERWARDS, NOTHING), at_most=1.03),
        *faster,
    ]

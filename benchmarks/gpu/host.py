"""What recording adds to the host's work for a training step, beside the floor and torch.profiler."""

from __future__ import annotations

import os
from collections.abc import Sequence

from benchmarks.gpu import describe_gpu
from benchmarks.gpu.host_ours import TOOLS
from benchmarks.gpu.models import SMALL_MODELS
from benchmarks.gpu.ours import NOTHING
from benchmarks.gpu.training_ours import BOTH_FLOOR, OURS_WITH_OPERATORS
from benchmarks.gpu.training_torchs import TORCH_BOTH
from benchmarks.harness import Samples, interleave
from benchmarks.report import Claim, claims_table, ratio, table


def run(*, quick: bool) -> str:
    if quick:
        os.environ["KINETOGRAPH_BENCH_STEPS"] = "2"
    modules = ["benchmarks.gpu.host_ours", "benchmarks.gpu.host_torchs"]
    samples = interleave(modules, generations=1, rounds=2 if quick else 60)
    tables = [model_table(samples, model) for model in SMALL_MODELS]
    claims = [claim for model in SMALL_MODELS for claim in claims_of(samples, model)]
    title = "# The host's work for a training step: GPT-2 with 64 tokens, ResNet-50 with 2 images"
    return "\n\n".join([title, describe_gpu(), *tables, floors(samples), claims_table(claims)])


def model_table(samples: Samples, model: str, tools: Sequence[str] = (*TOOLS, TORCH_BOTH)) -> str:
    rows = [row(samples, model, tool) for tool in tools]
    return table((f"{model}, ms per step", "median", "added, per round", "quiet", "added, quiet"), rows)


def row(samples: Samples, model: str, tool: str) -> tuple[str, ...]:
    name, bare = f"{model}: {tool}", f"{model}: {NOTHING}"
    figures = samples.median(name), samples.difference(name, bare), samples.quiet(name)
    return tool, *(f"{ms:.2f}" for ms in (*figures, samples.added(name, bare)))


def claims_of(samples: Samples, model: str) -> list[Claim]:
    ours, least, torchs = added(samples, model)
    return [
        Claim(f"{model}: added / the floor", ratio(ours, least), at_most=1.3),
        Claim(f"{model}: added / torch's CPU and CUDA", ratio(ours, torchs), at_most=1 / 3),
    ]


def floors(samples: Samples) -> str:
    of_torchs = []
    for model in SMALL_MODELS:
        _, least, torchs = added(samples, model)
        of_torchs.append(f"{ratio(least, torchs):.2f} for {model}")
    return f"The floor, of torch's CPU and CUDA: {', '.join(of_torchs)}."


def added(samples: Samples, model: str) -> tuple[float, ...]:
    """By us, by the floor and by torch: each over what the same round took without a tool."""
    tools = (OURS_WITH_OPERATORS, BOTH_FLOOR, TORCH_BOTH)
    return tuple(samples.difference(f"{model}: {tool}", f"{model}: {NOTHING}") for tool in tools)

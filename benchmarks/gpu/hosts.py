"""What the hosts in `results/` have shown so far: one alone tells of itself, all of them of the product."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from benchmarks.gpu import launches, training_ours
from benchmarks.gpu.models import SMALL_MODELS
from benchmarks.gpu.ours import OURS, OURS_WITH_OPERATORS, OURS_WITH_SCOPES
from benchmarks.gpu.torchs import TORCH, TORCH_BOTH
from benchmarks.report import RESULTS, table

HEADS = ("of hosts", "median", "least", "most", "of torch's CPU and CUDA", "least", "most")
Figures = dict[str, dict[str, str]]  # of each tool, by the heads of the columns


@dataclass(frozen=True)
class Kind:
    """Of tables: the topic that prints them, the head of their first column, the columns that count."""

    topic: str
    title: str
    tools: Sequence[str]
    columns: tuple[str, str]


def of_launches() -> Kind:
    tools = (*launches.FLOORS, OURS, OURS_WITH_SCOPES, OURS_WITH_OPERATORS, TORCH, TORCH_BOTH)
    return Kind("gpu-launches", "us per operation", tools, ("added", "added, quiet"))


def of_steps(model: str) -> Kind:
    tools = (training_ours.BOTH_FLOOR, training_ours.OURS_WITH_OPERATORS, TORCH_BOTH)
    return Kind("gpu-host", f"{model}, ms per step", tools, ("added, per round", "added, quiet"))


def run(*, quick: bool) -> str:
    del quick  # it only reads
    kinds = [of_launches(), *(of_steps(model) for model in SMALL_MODELS)]
    return "\n\n".join(["# What hosts have shown so far", *(part for kind in kinds for part in parts(kind))])


def parts(kind: Kind) -> Iterator[str]:
    kept = [read(path.read_text(), kind) for path in sorted(RESULTS.glob(f"*-{kind.topic}-*.md"))]
    hosts = [figures for figures in kept if figures]
    for column in kind.columns:
        rows = [row(tool, column, [each for each in hosts if tool in each]) for tool in kind.tools]
        yield table((f"{kind.title}: {column}", *HEADS), rows)


def read(text: str, kind: Kind) -> Figures:
    """The first table of the kind, or nothing: older ones had other columns."""
    lines = iter(text.splitlines())
    heads = next((cells(line) for line in lines if line.startswith(f"| {kind.title} ")), [])
    if not set(kind.columns) <= set(heads):
        return {}
    next(lines)  # the rule below them
    rows = [cells(line) for line in takewhile(lambda line: line.startswith("|"), lines)]
    return {tool: dict(zip(heads[1:], figures, strict=True)) for tool, *figures in rows}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def row(tool: str, column: str, hosts: Sequence[Figures]) -> tuple[str, ...]:
    added = [float(each[tool][column]) for each in hosts]
    shares = [ours / float(each[TORCH_BOTH][column]) for ours, each in zip(added, hosts, strict=True)]
    return tool, str(len(hosts)), *spread(added), *spread(shares)


def spread(values: Sequence[float]) -> tuple[str, ...]:
    return tuple(f"{value:.2f}" for value in (statistics.median(values), min(values), max(values)))

"""Training steps of real models with random weights, under a recorder: what it adds, and what it sees."""

from __future__ import annotations

import collections
import os
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from benchmarks.gpu.models import MODELS

FIRST = " / ms of the first step"
KERNELS = " / kernels of "
KERNEL_TIME = " / us of kernels"
UNTIED = " / kernels without a launch"

Seen = Iterable[tuple[str, float, bool]]
"""Of each kernel: its name, microseconds, and whether it is tied to a launch."""


@dataclass(frozen=True)
class Training:
    """Milliseconds per step of one model inside `session`, and the kernels that were seen.

    The first step counts by itself: in it CUPTI meets every kernel for the first time.
    """

    tool: str
    model: str
    session: Callable[[], AbstractContextManager[Any]]
    seen: Callable[[Any], Seen] | None = None
    scope: Callable[[str], AbstractContextManager[Any]] = nullcontext

    @property
    def name(self) -> str:
        return f"{self.model}: {self.tool}"

    def figures(self) -> dict[str, float]:
        import torch

        step = MODELS[self.model]()
        step(nullcontext)
        torch.cuda.synchronize()
        with self.session() as recorded:
            taken = {self.name + FIRST: self._ms_per_step(torch, step, 1)}
            taken[self.name] = self._ms_per_step(torch, step, steps(5))
        torch.zeros(1, device="cuda")  # where torch lets go of CUPTI, if it does
        torch.cuda.synchronize()
        return taken if self.seen is None else taken | self._kernels(self.seen(recorded))

    def _ms_per_step(self, torch: Any, step: Callable[[Any], None], count: int) -> float:
        begin = time.perf_counter()
        for _ in range(count):
            step(self.scope)
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) / count * 1e3

    def _kernels(self, seen: Seen) -> dict[str, float]:
        counts: collections.Counter[str] = collections.Counter()
        total, untied = 0.0, 0
        for kernel, microseconds, is_tied in seen:
            counts[kernel] += 1
            total += microseconds
            untied += not is_tied
        by_kernel = {self.name + KERNELS + kernel: float(count) for kernel, count in counts.items()}
        return {self.name + KERNEL_TIME: total, self.name + UNTIED: float(untied), **by_kernel}


def steps(usually: int) -> int:
    """Fewer where it is only to be seen that this runs; workers inherit the environment."""
    return int(os.environ.get("KINETOGRAPH_BENCH_STEPS", usually))

"""Training steps of real models with random weights, under a recorder: what it adds, and what it sees."""

from __future__ import annotations

import collections
import os
import statistics
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

FIRST = " / ms of the first step"
HOST = " / ms of the host"
KERNELS = " / kernels of "
KERNEL_TIME = " / us of kernels"
UNTIED = " / kernels without a launch"

Seen = Iterable[tuple[str, float, bool]]
"""Of each kernel: its name, microseconds, and whether it is tied to a launch."""


@dataclass(frozen=True)
class Training:
    """Milliseconds per step of one model inside `session`, and the kernels that were seen.

    The first step counts by itself: in it CUPTI meets every kernel for the first time. What recording adds is
    work of the host, of which a step that waits for the GPU shows nothing: so that is taken by itself, too.
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
            taken[self.name] = self._ms_per_step(torch, step, steps())
            host = [self._host_ms(torch, step) for _ in range((steps() + 1) // 2)]
            taken[self.name + HOST] = statistics.median(host)
        torch.zeros(1, device="cuda")  # where torch lets go of CUPTI, if it does
        torch.cuda.synchronize()
        return taken if self.seen is None else taken | self._kernels(self.seen(recorded))

    def _ms_per_step(self, torch: Any, step: Callable[[Any], None], count: int) -> float:
        begin = time.perf_counter()
        for _ in range(count):
            step(self.scope)
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) / count * 1e3

    def _host_ms(self, torch: Any, step: Callable[[Any], None]) -> float:
        """Until all of a step has been handed to the GPU."""
        begin = time.perf_counter()
        step(self.scope)
        taken = (time.perf_counter() - begin) * 1e3
        torch.cuda.synchronize()
        return taken

    def _kernels(self, seen: Seen) -> dict[str, float]:
        counts: collections.Counter[str] = collections.Counter()
        total, untied = 0.0, 0
        for kernel, microseconds, is_tied in seen:
            counts[kernel] += 1
            total += microseconds
            untied += not is_tied
        by_kernel = {self.name + KERNELS + kernel: float(count) for kernel, count in counts.items()}
        return {self.name + KERNEL_TIME: total, self.name + UNTIED: float(untied), **by_kernel}


def steps() -> int:
    return int(os.environ.get("KINETOGRAPH_BENCH_STEPS", "10"))


@cache
def gpt2() -> Callable[[Any], None]:
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config()).cuda().train()
    tokens = torch.randint(0, 50_000, (8, 512), device="cuda")
    return training_step(model, lambda: model(tokens, labels=tokens).loss)


@cache
def resnet50() -> Callable[[Any], None]:
    import torch
    import torchvision

    model = torchvision.models.resnet50().cuda().train()
    images = torch.randn(32, 3, 224, 224, device="cuda")
    labels = torch.randint(0, 1000, (32,), device="cuda")
    return training_step(model, lambda: torch.nn.functional.cross_entropy(model(images), labels))


def training_step(model: Any, loss: Callable[[], Any]) -> Callable[[Any], None]:
    import torch

    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def step(scope: Any) -> None:
        with scope("forward"):
            value = loss()
        with scope("backward"):
            value.backward()
        with scope("optimizer"):
            optimizer.step()
            optimizer.zero_grad()

    return step


MODELS = {"GPT-2 small": gpt2, "ResNet-50": resnet50}

"""What the host does for a training step, until all of it has been handed to the GPU."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from benchmarks.gpu.models import SMALL_MODELS
from benchmarks.gpu.training import Training, steps


@dataclass(frozen=True)
class HostWork:
    """Milliseconds per step inside the session of `training`; the GPU is waited for behind each, uncounted.

    A turn is short and there are many: what disturbs a machine comes and goes, and meets everybody alike.
    """

    training: Training

    @property
    def name(self) -> str:
        return self.training.name

    def figures(self) -> dict[str, float]:
        import torch

        step = SMALL_MODELS[self.training.model]()
        self._ms(torch, step, nullcontext)
        gc.collect()
        with self.training.session():
            self._ms(torch, step, self.training.scope)  # in which CUPTI meets every kernel
            taken = [self._ms(torch, step, self.training.scope) for _ in range(steps(4))]
        torch.zeros(1, device="cuda")  # where torch lets go of CUPTI, if it does
        torch.cuda.synchronize()
        return {self.name: statistics.median(taken)}

    def _ms(self, torch: Any, step: Callable[[Any], None], scope: Any) -> float:
        begin = time.perf_counter()
        step(scope)
        taken = (time.perf_counter() - begin) * 1e3
        torch.cuda.synchronize()
        return taken

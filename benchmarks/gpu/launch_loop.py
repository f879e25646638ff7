"""A loop of `x.add_(1)` on 64 elements, which is bound by launches, under a recorder."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

OPERATIONS = 20_000
STOPPING = " / us per event to stop and write"

Session = Callable[[], AbstractContextManager[Any]]
Write = Callable[[Any], int]
"""Stores what a session has recorded, and says how many events that is."""


@dataclass(frozen=True)
class LaunchLoop:
    """Microseconds per operation inside `session`, and per event to stop and write, if it writes."""

    name: str
    session: Session
    write: Write | None = None
    scope: Callable[[str], AbstractContextManager[Any]] | None = None

    def figures(self) -> dict[str, float]:
        import torch

        x = torch.zeros(64, device="cuda")
        x.add_(1)
        torch.cuda.synchronize()
        gc.collect()
        session = self.session()
        recorded = session.__enter__()
        taken = {self.name: self._us_per_operation(torch, x)}
        begin = time.perf_counter()
        session.__exit__(None, None, None)
        if self.write is not None:
            events = self.write(recorded)
            taken[self.name + STOPPING] = (time.perf_counter() - begin) / events * 1e6
        x.add_(1)  # where torch lets go of CUPTI, if it does
        torch.cuda.synchronize()
        return taken

    def _us_per_operation(self, torch: Any, x: Any) -> float:
        begin = time.perf_counter()
        if self.scope is None:
            for _ in range(operations()):
                x.add_(1)
        else:
            for _ in range(operations()):
                with self.scope("add"):
                    x.add_(1)
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) / operations() * 1e6


def operations() -> int:
    """Fewer where it is only to be seen that this runs; workers inherit the environment."""
    return int(os.environ.get("KINETOGRAPH_BENCH_OPERATIONS", OPERATIONS))

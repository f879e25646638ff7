"""Launches of a kernel with records of one tool: what a launch takes on the GPU, and on the host."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

COPY = "copy of 256 MiB"
MATMUL = "matmul of 4096 x 4096 x 4096"
KERNELS = (COPY, MATMUL)
ON_HOST = " / us of the host per launch"

ROWS, COLUMNS, DEPTH = 128, 128, 64
EDGE = 4096
COPIED = 4096
COPY_ELEMENTS = 1 << 26
"""So that neither fits into the GPU's caches."""


def launches() -> int:
    """In a turn. Fewer where it is only to be seen that this runs; workers inherit the environment."""
    return int(os.environ.get("KINETOGRAPH_BENCH_LAUNCHES", 30))


def blocks_of(kernel: str) -> int:
    return COPY_ELEMENTS // COPIED if kernel == COPY else (EDGE // ROWS) * (EDGE // COLUMNS)


def records_per_block(kernel: str) -> int:
    return 4 if kernel == COPY else EDGE // DEPTH * 4 + 2


@dataclass(frozen=True)
class Run:
    """Microseconds per launch, by CUPTI; `prepare` comes before each turn, which it leaves room for."""

    name: str
    launch: Callable[[], object]
    prepare: Callable[[], object]
    launches: int

    def figures(self) -> dict[str, float]:
        import torch

        import kinetograph as kg

        self.prepare()
        self.launch()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(self.launches):
            self.launch()
        on_host = (time.perf_counter() - begin) / self.launches * 1e6
        torch.cuda.synchronize()
        self.prepare()
        with kg.profile(activities=["cuda"]) as profile:
            for _ in range(self.launches):
                self.launch()
            torch.cuda.synchronize()
        taken = [
            event.duration_ns / 1e3 for event in profile.trace.events if event.name in ("copy", "matmul")
        ]
        assert len(taken) == self.launches, profile.trace.notes
        return {self.name: statistics.median(taken), self.name + ON_HOST: on_host}


def runs(
    tool: Any,
    name: str,
    buffer_of: Callable[[str], Any],
    prepare: Callable[[Any], object] = lambda _: None,
    count: int | None = None,
) -> list[Run]:
    """One of each kernel; their results are checked once."""
    import torch

    from benchmarks.gpu import inside_kernels as kernels

    copy_buffer, matmul_buffer = buffer_of(COPY), buffer_of(MATMUL)
    source = torch.randn(COPY_ELEMENTS, device="cuda")
    target = torch.zeros_like(source)
    a, b = (torch.randn(EDGE, EDGE, device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.zeros_like(a)

    def copy() -> None:
        kernels.copy[(blocks_of(COPY),)](copy_buffer, source, target, COPIED, tool)

    def matmul() -> None:
        grid = (EDGE // ROWS, EDGE // COLUMNS)
        sizes = {"ROWS": ROWS, "COLUMNS": COLUMNS, "DEPTH": DEPTH}
        kernels.matmul[grid](matmul_buffer, a, b, c, EDGE, EDGE, tool, **sizes, num_warps=8, num_stages=3)

    prepare(copy_buffer)
    prepare(matmul_buffer)
    copy()
    matmul()
    assert torch.equal(source, target)
    torch.testing.assert_close(c, a @ b, rtol=0.01, atol=0.3)
    return [
        Run(f"{COPY}: {name}", copy, lambda: prepare(copy_buffer), count or launches()),
        Run(f"{MATMUL}: {name}", matmul, lambda: prepare(matmul_buffer), count or launches()),
    ]

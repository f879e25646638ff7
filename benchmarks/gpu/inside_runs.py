"""Launches of a kernel with records of one tool: what a launch takes on the GPU, and on the host."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

TILEWISE = "copy of 256 MiB, tile by tile"
COPY = "copy of 256 MiB, a block per tile"
MATMUL = "matmul of 4096 x 4096 x 4096"
KERNELS = (TILEWISE, COPY, MATMUL)
ON_HOST = " / us of the host per launch"

ROWS, COLUMNS, DEPTH = 128, 128, 64
EDGE = 4096
TILE = 4096
TILES = 1 << 14
COPIERS = 1 << 10
"""Blocks, each with 16 tiles: most of them run at once."""
COPY_ELEMENTS = TILES * TILE
"""So that they do not fit into the GPU's caches."""
REST = 1000
"""Elements behind the last whole tile."""


def launches() -> int:
    """In a turn. Fewer where it is only to be seen that this runs; workers inherit the environment."""
    return int(os.environ.get("KINETOGRAPH_BENCH_LAUNCHES", 30))


def blocks_of(kernel: str) -> int:
    return {TILEWISE: COPIERS, COPY: TILES, MATMUL: (EDGE // ROWS) * (EDGE // COLUMNS)}[kernel]


def records_per_block(kernel: str) -> int:
    return {TILEWISE: TILES // COPIERS * 4, COPY: 4, MATMUL: EDGE // DEPTH * 4 + 2}[kernel]


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
        names = ("copy", "copy_tilewise", "matmul")
        taken = [event.duration_ns / 1e3 for event in profile.trace.events if event.name in names]
        assert len(taken) == self.launches, profile.trace.notes
        self.prepare()  # or the sessions of all others would read what this one left
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

    buffers = {kernel: buffer_of(kernel) for kernel in KERNELS}
    source = torch.randn(COPY_ELEMENTS + REST, device="cuda")
    target = torch.zeros_like(source)
    a, b = (torch.randn(EDGE, EDGE, device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.zeros_like(a)

    def tilewise() -> None:
        grid = (blocks_of(TILEWISE),)
        kernels.copy_tilewise[grid](buffers[TILEWISE], source, target, source.numel(), TILE, tool)

    def copy() -> None:
        kernels.copy[(blocks_of(COPY),)](buffers[COPY], source, target, TILE, tool)

    def matmul() -> None:
        grid = (EDGE // ROWS, EDGE // COLUMNS)
        sizes = {"ROWS": ROWS, "COLUMNS": COLUMNS, "DEPTH": DEPTH}
        kernels.matmul[grid](buffers[MATMUL], a, b, c, EDGE, EDGE, tool, **sizes, num_warps=8, num_stages=3)

    def checked(kernel: str, launch: Callable[[], None], is_right: Callable[[], object]) -> Run:
        run = Run(f"{kernel}: {name}", launch, lambda: prepare(buffers[kernel]), count or launches())
        run.prepare()
        launch()
        is_right()
        return run

    def is_copied(elements: int) -> None:
        assert torch.equal(source[:elements], target[:elements])
        target.zero_()

    return [
        checked(TILEWISE, tilewise, lambda: is_copied(COPY_ELEMENTS + REST)),
        checked(COPY, copy, lambda: is_copied(COPY_ELEMENTS)),
        checked(MATMUL, matmul, lambda: torch.testing.assert_close(c, a @ b, rtol=0.01, atol=0.3)),
    ]

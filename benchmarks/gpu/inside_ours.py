"""Kernels without records, with ours, and with records between fences."""

from __future__ import annotations

from typing import Any

from benchmarks.gpu.inside_runs import (
    COPY,
    MATMUL,
    TILEWISE,
    Run,
    blocks_of,
    launches,
    records_per_block,
    runs,
)

NOTHING = "no records"
OURS = "kinetograph"
CLAIMED = "kinetograph, without a record"
FENCED = "8 bytes between fences"


def contenders() -> list[Run]:
    from benchmarks.gpu import inside_kernels as kernels
    from kinetograph.intra_kernel.triton import reset_profiler_buffer

    return [
        *runs(kernels.NO_RECORDS, NOTHING, lambda _: zeros(1)),
        *runs(kernels.OURS, OURS, our_buffer, reset_profiler_buffer),
        *runs(kernels.CLAIMED, CLAIMED, our_buffer, reset_profiler_buffer),
        *runs(kernels.FENCED, FENCED, fenced_buffer),
    ]


def our_buffer(kernel: str) -> Any:
    """With room for every launch of a turn, and the one before."""
    from kinetograph.intra_kernel.triton import alloc_profiler_buffer

    slots_per_segment = {TILEWISE: 128, COPY: 16, MATMUL: 512}[kernel]
    segments = blocks_of(kernel) * (launches() + 1)
    return alloc_profiler_buffer(segments * (slots_per_segment - 6), slots_per_segment)


def fenced_buffer(kernel: str) -> Any:
    """Each launch writes over the one before. The last block of a copy may have four more."""
    return zeros(1 + blocks_of(kernel) * (5 + records_per_block(kernel)))


def zeros(words: int) -> Any:
    import torch

    return torch.zeros(words, dtype=torch.int64, device="cuda")

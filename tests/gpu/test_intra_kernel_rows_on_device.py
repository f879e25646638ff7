"""Rows of warps and of partitions of warps, on a GPU: kernels in Triton and Gluon."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import kinetograph as kg

sys.path.append(str(Path(__file__).parents[1] / "unit" / "intra_kernel"))

BLOCKS, SIZE = 50, 128


def recorded(kernel: Any, elements: int, **constants: int) -> kg.Trace:
    import torch

    from kinetograph.intra_kernel.triton import alloc_profiler_buffer, load_profiler_buffer

    buffer = alloc_profiler_buffer(10_000)
    source = torch.randn(elements, device="cuda")
    target = torch.zeros_like(source)
    kernel[(BLOCKS,)](buffer, source, target, **constants, num_warps=4)
    trace = load_profiler_buffer(buffer, ["copy", "done"])
    assert torch.equal(source, target)
    assert not trace.notes
    return trace


def rows(trace: kg.Trace) -> Counter[str]:
    return Counter(event.track.name for event in trace.events if event.name == "copy")


def test_every_warp_of_a_kernel_in_gluon_has_a_row() -> None:
    pytest.importorskip("triton.experimental.gluon")
    from gluon_kernels import copy_by_warps

    trace = recorded(copy_by_warps, BLOCKS * SIZE, SIZE=SIZE, WARPS=4)
    assert rows(trace) == {f"block {block} group {warp}": 1 for block in range(BLOCKS) for warp in range(4)}
    leaders = Counter(event.args["payload"] for event in trace.events if event.name == "done")
    assert leaders == dict.fromkeys((0, 32, 64, 96), BLOCKS)


def test_partitions_of_warps_have_a_row_each() -> None:
    pytest.importorskip("triton.experimental.gluon")
    from gluon_kernels import copy_by_partitions

    trace = recorded(copy_by_partitions, BLOCKS * 2 * SIZE, SIZE=SIZE)
    assert rows(trace) == {f"block {block} group {half}": 1 for block in range(BLOCKS) for half in range(2)}


def test_every_warp_of_a_kernel_in_triton_has_a_row() -> None:
    pytest.importorskip("triton")
    from kernels import copy_by_warps

    trace = recorded(copy_by_warps, BLOCKS * SIZE, SIZE=SIZE, WARPS=4)
    assert rows(trace) == {f"block {block} group {warp}": 1 for block in range(BLOCKS) for warp in range(4)}

"""Kernels in Gluon that record: a row for each warp, and a row for each partition of warps."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from kinetograph.intra_kernel.triton import Profiler, tid


@gluon.jit
def copy_by_warps(buffer, source, target, SIZE: gl.constexpr, WARPS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [WARPS], [0])
    profiler = Profiler.create(buffer, tid(0) // 32, WARPS, is_leader=(tid(0) % 32 == 0))
    offsets = gl.program_id(0) * SIZE + gl.arange(0, SIZE, layout=layout)
    profiler = profiler.record(is_start=True, task_type=0)
    values = gl.load(source + offsets)
    profiler = profiler.record(is_start=False, task_type=0, after=values)
    gl.store(target + offsets, values)
    profiler = profiler.mark(1, payload=tid(0))


@gluon.jit
def copy_half(buffer, source, target, GROUP: gl.constexpr, SIZE: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    profiler = Profiler.create(buffer, GROUP, 2, is_leader=(tid(0) % 128 == 0))
    offsets = (gl.program_id(0) * 2 + GROUP) * SIZE + gl.arange(0, SIZE, layout=layout)
    profiler = profiler.record(is_start=True, task_type=0)
    gl.store(target + offsets, gl.load(source + offsets))
    profiler = profiler.record(is_start=False, task_type=0)


@gluon.jit
def copy_by_partitions(buffer, source, target, SIZE: gl.constexpr):
    """Four warps copy the first half of the block's part, four others the second."""
    gl.warp_specialize(
        [(copy_half, (buffer, source, target, 0, SIZE)), (copy_half, (buffer, source, target, 1, SIZE))],
        [4],
        [64],
    )

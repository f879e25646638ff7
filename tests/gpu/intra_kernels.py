"""Kernels that record what they do: the guide's copy, and a pipelined product of matrices."""

import triton
import triton.language as tl

from kinetograph.intra_kernel.triton import Profiler, tid


@triton.jit
def copy_kernel(buffer, source, target, count, SIZE: tl.constexpr, RECORDS: tl.constexpr):
    profiler = Profiler.create(
        profiler_buffer=buffer,
        group_id=0,
        num_groups=1,
        is_leader=(tid(0) == 0),
        ENABLE_PROFILING=RECORDS,
    )
    offsets = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    profiler = profiler.record(is_start=True, task_type=0)
    values = tl.load(source + offsets, mask=offsets < count)
    profiler = profiler.record(is_start=False, task_type=0, after=values)
    profiler = profiler.record(is_start=True, task_type=1)
    tl.store(target + offsets, values, mask=offsets < count)
    profiler = profiler.record(is_start=False, task_type=1)


@triton.jit
def matmul_kernel(
    buffer,
    a,
    b,
    c,
    n,
    k,
    RECORDS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    profiler = Profiler.create(buffer, 0, 1, is_leader=(tid(0) == 0), ENABLE_PROFILING=RECORDS)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    a += rows[:, None] * k + depth[None, :]
    b += depth[:, None] * n + columns[None, :]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for _ in tl.range(0, k, DEPTH, num_stages=3):
        profiler = profiler.record(is_start=True, task_type=0)
        left = tl.load(a)
        right = tl.load(b)
        profiler = profiler.record(is_start=False, task_type=0)
        profiler = profiler.record(is_start=True, task_type=1)
        total = tl.dot(left, right, total)
        profiler = profiler.record(is_start=False, task_type=1)
        a += DEPTH
        b += DEPTH * n
    profiler = profiler.record(is_start=True, task_type=2)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16))
    profiler = profiler.record(is_start=False, task_type=2)

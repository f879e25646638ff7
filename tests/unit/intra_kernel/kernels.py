"""Kernels with records in them. With `RECORDS` of 0 the profiler is off; with less, they know of none."""

import triton
import triton.language as tl

from kinetograph.intra_kernel.triton import Profiler, tid


@triton.jit
def matmul(
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
    """With two records in its loop, around a step; or four, around load and dot, and two at the store."""
    if RECORDS >= 0:
        profiler = Profiler.create(buffer, 0, 1, is_leader=(tid(0) == 0), ENABLE_PROFILING=RECORDS > 0)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    a += rows[:, None] * k + depth[None, :]
    b += depth[:, None] * n + columns[None, :]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for _ in range(0, k, DEPTH):
        if RECORDS >= 0:
            profiler = profiler.record(is_start=True, task_type=0)
        left = tl.load(a)
        right = tl.load(b)
        if RECORDS > 2:
            profiler = profiler.record(is_start=False, task_type=0)
            profiler = profiler.record(is_start=True, task_type=1)
        total = tl.dot(left, right, total)
        if RECORDS > 2:
            profiler = profiler.record(is_start=False, task_type=1)
        elif RECORDS >= 0:
            profiler = profiler.record(is_start=False, task_type=0)
        a += DEPTH
        b += DEPTH * n
    if RECORDS > 2:
        profiler = profiler.record(is_start=True, task_type=2)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16))
    if RECORDS > 2:
        profiler = profiler.record(is_start=False, task_type=2)


@triton.jit
def specialised_matmul(buffer, a, b, c, n, k, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    """The compiler gives loads and products to warps of their own, so that each warp has a row."""
    profiler = Profiler.create(buffer, tid(0) // 32, 16, is_leader=(tid(0) % 32 == 0))
    left = tl.make_tensor_descriptor(a, [n, k], [k, 1], [ROWS, DEPTH])
    right = tl.make_tensor_descriptor(b, [n, k], [k, 1], [COLUMNS, DEPTH])
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    row, column = tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS
    for at in tl.range(0, k, DEPTH, warp_specialize=True):
        profiler = profiler.record(is_start=True, task_type=0)
        total = tl.dot(left.load([row, at]), right.load([column, at]).T, total)
        profiler = profiler.record(is_start=False, task_type=0)
    rows, columns = row + tl.arange(0, ROWS), column + tl.arange(0, COLUMNS)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16))


@triton.jit
def scaled(profiler, value):
    profiler = profiler.mark(3, payload=tl.program_id(0))
    return profiler, value * 2


@triton.jit
def copy(buffer, source, target, task, count, SIZE: tl.constexpr, RECORDS: tl.constexpr):
    """Of every kind of record one."""
    if RECORDS >= 0:
        profiler = Profiler.create(buffer, 0, 1, is_leader=(tid(0) == 0), ENABLE_PROFILING=RECORDS > 0)
        profiler = profiler.record(is_start=True, task_type=task)
    offsets = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    values = tl.load(source + offsets, mask=offsets < count)
    if RECORDS >= 0:
        profiler = profiler.mark(2, after=values)
        profiler, values = scaled(profiler, values)
    else:
        values = values * 2
    tl.store(target + offsets, values, mask=offsets < count)
    if RECORDS >= 0:
        profiler = profiler.record(is_start=False, task_type=task, payload=0.5)


@triton.jit
def waiting(buffer, source, target):
    profiler = Profiler.create(buffer, is_leader=(tid(0) == 0))
    value = tl.load(source)
    profiler = profiler.mark(0, after=value)
    tl.store(target, value)


@triton.jit
def copy_by_warps(buffer, source, target, SIZE: tl.constexpr, WARPS: tl.constexpr):
    profiler = Profiler.create(buffer, tid(0) // 32, WARPS, is_leader=(tid(0) % 32 == 0))
    offsets = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    profiler = profiler.record(is_start=True, task_type=0)
    tl.store(target + offsets, tl.load(source + offsets))
    profiler = profiler.record(is_start=False, task_type=0)


@triton.jit
def steps(buffer, source, target, task, SIZE: tl.constexpr):
    """In `kernels.cu` and `numba_kernels.py` the same."""
    profiler = Profiler.create(buffer, is_leader=(tid(0) == 0))
    profiler = profiler.record(is_start=True, task_type=task)
    first = tl.program_id(0) * SIZE
    value = tl.load(source + first + tl.arange(0, SIZE))
    profiler = profiler.mark(2, after=tl.load(source + first))
    for step in range(3):
        profiler = profiler.record(is_start=True, task_type=1, payload=step)
        value *= 2
        profiler = profiler.record(is_start=False, task_type=1)
    tl.store(target + first + tl.arange(0, SIZE), value)
    profiler = profiler.mark(3, payload=tl.program_id(0))
    profiler = profiler.record(is_start=False, task_type=task, payload=0.5)

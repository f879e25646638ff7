"""Kernels with records in them. With `RECORDS` of 0 the profiler is off; with less, they know of none."""

import triton
import triton.language as tl
from triton.language import core

from kinetograph.intra_kernel.triton import Profiler, tid

_START = """{
    .reg .pred leads;
    .reg .u32 clock, early, late;
    .reg .u64 time;
    setp.ne.u32 leads, $2, 0;
    mov.u32 clock, %clock;
    mov.u64 time, %globaltimer;
    mov.b64 {early, late}, time;
    @leads st.global.v4.u32 [$1], {TAG, clock, early, late};
    add.u64 $0, $1, 16;
}"""
_END = """{
    .reg .pred leads;
    .reg .u32 clock;
    setp.ne.u32 leads, $2, 0;
    mov.u32 clock, %clock;
    @leads st.global.v2.u32 [$1], {TAG, clock};
    add.u64 $0, $1, 16;
}"""


@core.extern
def _store(pointer, leads, is_start, task, _semantic=None):
    text = (_START if is_start.value else _END).replace("TAG", str(task.value))
    return core.inline_asm_elementwise(
        text, "=&l,l,r", [pointer, leads], dtype=core.int64, is_pure=False, pack=1, _semantic=_semantic
    )


@core._aggregate
class LeastProfiler:
    """Writes the plainest records: no check of bounds, no loss that is counted, a tag that is a constant."""

    pointer: tl.tensor
    leads: tl.tensor

    @triton.constexpr_function
    def __init__(self, pointer, leads):
        self.pointer = pointer
        self.leads = leads

    @staticmethod
    @triton.jit
    def create(buffer, is_leader):
        return LeastProfiler(buffer.to(tl.int64) + tl.program_id(0) * 4096, is_leader.to(tl.int32))

    @triton.jit
    def record(self, is_start: tl.constexpr, task_type: tl.constexpr):
        return LeastProfiler(_store(self.pointer, self.leads, is_start, task_type), self.leads)


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
    LEAST: tl.constexpr = False,
):
    """With two records in its loop, around a step; or four, around load and dot, and two at the store."""
    if LEAST:
        profiler = LeastProfiler.create(buffer, tid(0) == 0)
    elif RECORDS >= 0:
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
def rows(buffer, number):
    profiler = Profiler.create(buffer, is_leader=(tid(0) == 0))
    for task in tl.static_range(5):
        profiler = profiler.mark(task)
    profiler = profiler.mark(5, payload=number)
    if number > 7:
        profiler = profiler.mark(6)
    profiler = profiler.mark(7)


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

"""The guide's copy, which records what it does."""

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
def overlapping_kernel(buffer, target, turns):
    """Lets the next kernel on its stream begin before it is done."""
    profiler = Profiler.create(
        profiler_buffer=buffer, group_id=0, num_groups=1, is_leader=(tid(0) == 0), ENABLE_PROFILING=True
    )
    tl.extra.cuda.gdc_launch_dependents()
    profiler = profiler.record(is_start=True, task_type=0)
    value = 0.0
    for _ in range(turns):
        value = tl.sin(value) + 1.0
    tl.store(target, value)
    profiler = profiler.record(is_start=False, task_type=0)

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

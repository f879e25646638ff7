"""Kernels with records in them, for Numba. In `kernels.cu` and `kernels.py` is the same `steps`."""

from typing import Any

from numba import cuda, float32

from kinetograph.intra_kernel.numba import create_profiler, mark, record


def steps_of(is_on: bool) -> Any:
    def steps(buffer: Any, source: Any, target: Any, task: int) -> None:
        profiler = create_profiler(buffer if is_on else None)
        profiler = record(profiler, True, task)
        at = cuda.grid(1)
        value = source[at]
        profiler = mark(profiler, 2, after=value)
        for step in range(3):
            profiler = record(profiler, True, 1, step)
            value *= float32(2)
            profiler = record(profiler, False, 1)
        target[at] = value
        profiler = mark(profiler, 3, payload=cuda.blockIdx.x)
        profiler = record(profiler, False, task, payload=0.5)

    return steps


def plain_steps(buffer: Any, source: Any, target: Any, task: int) -> None:
    at = cuda.grid(1)
    value = source[at]
    for _step in range(3):
        value *= float32(2)
    target[at] = value


steps = cuda.jit(steps_of(True))


def warps(buffer: Any, source: Any, target: Any, task: int) -> None:
    profiler = create_profiler(
        buffer, cuda.threadIdx.x // 32, num_groups=cuda.blockDim.x // 32, is_leader=cuda.laneid == 0
    )
    profiler = record(profiler, True, task)
    profiler = mark(profiler, 1)
    profiler = record(profiler, False, task)

"""PyTorch's two ways to name a range, with and without its profiler."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch._C._profiler import _RecordFunctionFast
from torch.profiler import ProfilerActivity, profile, record_function

from benchmarks.harness import Contender


@contextmanager
def profiling() -> Iterator[None]:
    with profile(activities=[ProfilerActivity.CPU]):
        yield


def record_function_fast(count: int) -> None:
    for _ in range(count):
        with _RecordFunctionFast("x"):
            pass


def record_function_scope(count: int) -> None:
    for _ in range(count):
        with record_function("x"):
            pass


def contenders() -> list[Contender]:
    torch.set_num_threads(1)
    return [
        Contender("torch _RecordFunctionFast, recorded", record_function_fast, profiling, count=5_000),
        Contender("torch _RecordFunctionFast, off", record_function_fast, count=5_000),
        Contender("torch record_function, recorded", record_function_scope, profiling, count=1_000),
        Contender("torch record_function, off", record_function_scope, count=1_000),
    ]

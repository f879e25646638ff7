"""PyTorch's profiler with Python stacks, which it has by tracing calls, those of C functions too."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.traced import Traced, in_all_programs


@contextmanager
def profiling() -> Iterator[None]:
    with profile(activities=[ProfilerActivity.CPU], with_stack=True):
        yield


def contenders() -> list[Traced]:
    torch.set_num_threads(1)
    return in_all_programs("torch.profiler, with_stack", profiling)

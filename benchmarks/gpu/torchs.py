"""torch.profiler, in a process of its own, for it keeps CUPTI from its first use on."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.gpu.launch_loop import LaunchLoop

TORCH = "torch.profiler, CUDA"
TORCH_BOTH = "torch.profiler, CPU and CUDA"
AFTER_TORCH = "nothing, after torch.profiler"


def contenders() -> list[LaunchLoop]:
    import torch
    from torch.profiler import ProfilerActivity, profile

    torch.zeros(64, device="cuda")
    cuda = partial(profile, activities=[ProfilerActivity.CUDA])
    both = partial(profile, activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    return [
        LaunchLoop(TORCH, cuda, write),
        LaunchLoop(TORCH_BOTH, both, write),
        LaunchLoop(AFTER_TORCH, nullcontext),
    ]


def write(profiler: Any) -> int:
    with tempfile.TemporaryDirectory() as folder:
        profiler.export_chrome_trace(str(Path(folder) / "trace.json"))
    return len(profiler.profiler.kineto_results.events())

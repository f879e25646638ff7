"""Training under torch.profiler."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.gpu.models import MODELS
from benchmarks.gpu.training import Seen, Training

TORCH = "torch.profiler, CUDA"
TORCH_BOTH = "torch.profiler, CPU and CUDA"


def contenders() -> list[Training]:
    from torch.profiler import ProfilerActivity, profile, record_function

    cuda = partial(profile, activities=[ProfilerActivity.CUDA])
    both = partial(profile, activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    made: list[Training] = []
    for model in MODELS:
        made += [
            Training(TORCH, model, cuda),
            Training(TORCH_BOTH, model, both, seen, record_function),
        ]
    return made


def seen(profiler: Any) -> Seen:
    import torch

    for event in profiler.profiler.kineto_results.events():
        on_gpu = event.device_type() == torch.autograd.DeviceType.CUDA
        is_kernel = on_gpu and not event.is_user_annotation() and not event.name().startswith("Mem")
        if is_kernel:
            yield event.name(), event.duration_ns() / 1e3, event.linked_correlation_id() != 0

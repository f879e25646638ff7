"""Training under Kinetograph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from benchmarks.floor.cupti import load_client
from benchmarks.gpu.models import MODELS
from benchmarks.gpu.ours import FLOOR, KERNEL_FLOOR, LAUNCH_FLOOR, NOTHING, floor
from benchmarks.gpu.training import Seen, Training

OPERATOR_FLOOR = "floor: bare callback per operator"
BOTH_FLOOR = "floor: bare callback, kernels and launches"

OURS = "kinetograph, CUDA"
OURS_WITH_OPERATORS = "kinetograph, operators and CUDA"
OURS_WITH_STACK = "kinetograph, operators, Python calls and CUDA"
LAUNCHES = ("cuda_runtime", "cuda_driver")


def contenders() -> list[Training]:
    import kinetograph as kg
    from benchmarks.operators.bare import watched

    client = load_client()
    both = ["cpu", "cuda"]

    @contextmanager
    def launches_and_operators() -> Iterator[None]:
        with floor(client, runtime=False, launches=True), watched(needs_inputs=False):
            yield

    made: list[Training] = []
    for model in MODELS:
        made += [
            Training(NOTHING, model, nullcontext),
            Training(KERNEL_FLOOR, model, lambda: floor(client, runtime=False)),
            Training(LAUNCH_FLOOR, model, lambda: floor(client, runtime=False, launches=True)),
            Training(FLOOR, model, lambda: floor(client)),
            Training(OPERATOR_FLOOR, model, lambda: watched(needs_inputs=False)),
            Training(BOTH_FLOOR, model, launches_and_operators),
            Training(OURS, model, lambda: kg.profile(activities=["cuda"])),
            Training(OURS_WITH_OPERATORS, model, lambda: kg.profile(activities=both), seen, kg.scope),
            Training(
                OURS_WITH_STACK,
                model,
                lambda: kg.profile(activities=both, with_stack=True),
                scope=kg.scope,
            ),
        ]
    return made


def seen(profile: Any) -> Seen:
    events = profile.trace.events
    launches = {each.correlation_id for each in events if each.category in LAUNCHES}
    for event in events:
        if event.category == "kernel":
            yield event.name, event.duration_ns / 1e3, event.correlation_id in launches

"""Kinetograph and the floor, in a process where torch's profiler never runs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from benchmarks.floor import load_floor
from benchmarks.floor.cupti import load_client
from benchmarks.gpu.launch_loop import LaunchLoop

NOTHING = "nothing"
KERNEL_FLOOR = "floor: bare CUPTI client, kernels alone"
LAUNCH_FLOOR = "floor: bare CUPTI client, kernels and launches"
SCOPE_FLOOR = "floor: kernels, launches and a C scope per operation"
FLOOR = "floor: bare CUPTI client"
DRIVER_FLOOR = "floor: bare CUPTI client, driver calls too"
OURS = "kinetograph, CUDA"
OURS_WITH_SCOPES = "kinetograph, CUDA and a scope per operation"
OURS_WITH_OPERATORS = "kinetograph, CUDA and operators"
AFTERWARDS = "nothing, afterwards"


def contenders() -> list[LaunchLoop]:
    import kinetograph as kg

    client, scopes = load_client(), load_floor()
    both = ["cpu", "cuda"]
    return [
        LaunchLoop(NOTHING, nullcontext),
        LaunchLoop(KERNEL_FLOOR, lambda: floor(client, runtime=False)),
        LaunchLoop(LAUNCH_FLOOR, lambda: floor(client, runtime=False, launches=True)),
        LaunchLoop(SCOPE_FLOOR, lambda: floor(client, runtime=False, launches=True), scope=scopes.bound_span),
        LaunchLoop(FLOOR, lambda: floor(client)),
        LaunchLoop(DRIVER_FLOOR, lambda: floor(client, driver=True)),
        LaunchLoop(OURS, lambda: kg.profile(activities=["cuda"]), write),
        LaunchLoop(OURS_WITH_SCOPES, lambda: kg.profile(activities=both, frameworks=()), write, kg.scope),
        LaunchLoop(OURS_WITH_OPERATORS, lambda: kg.profile(activities=both), write),
        LaunchLoop(AFTERWARDS, nullcontext),
    ]


@contextmanager
def floor(
    client: Any, *, runtime: bool = True, driver: bool = False, launches: bool = False
) -> Iterator[None]:
    if (error := client.floor_start(runtime, driver, launches)) != 0:
        raise RuntimeError(f"CUPTI refuses the bare client with {error}")
    try:
        yield
    finally:
        client.floor_stop()


def write(profile: Any) -> int:
    with tempfile.TemporaryDirectory() as folder:
        profile.export_chrome_trace(str(Path(folder) / "trace.json"))
    return len(profile.trace)

"""What recording CUDA adds to a launch, beside a bare client of CUPTI and torch.profiler: `make gpu-bench`.

A loop of `x.add_(1)` on 64 elements, which is bound by launches; contenders take turns within one run.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.floor import HERE, OUT, build

OPERATIONS = 20_000
ROUNDS = 7


def _header_folders() -> list[Path]:
    wheels = [Path(entry) / "nvidia" / "cu13" / "include" for entry in sys.path]
    toolkits = [Path(home) / "include" for home in (os.environ.get("CUDA_HOME"), "/usr/local/cuda") if home]
    return [folder for folder in wheels + toolkits if folder.is_dir()]


def _client() -> Any:
    library = OUT / "cupti_client.so"
    headers = [f"-I{folder}" for folder in _header_folders()]
    build(HERE / "cupti_client.c", library, "-fPIC", "-shared", *headers)
    return ctypes.CDLL(str(library))


@contextmanager
def _floor(client: Any) -> Iterator[None]:
    if client.floor_start() != 0:
        raise RuntimeError("CUPTI is in use")
    try:
        yield
    finally:
        client.floor_stop()


def _contenders(torch: Any) -> dict[str, Callable[[], AbstractContextManager[Any]]]:
    import contextlib

    import kinetograph as kg

    client = _client()
    activity = torch.profiler.ProfilerActivity
    return {
        "nothing": contextlib.nullcontext,
        "bare CUPTI client": lambda: _floor(client),
        "kinetograph, CUDA": lambda: kg.profile(activities=["cuda"]),
        "kinetograph, CUDA and scopes": lambda: kg.profile(activities=["cpu", "cuda"]),
        "torch.profiler, CUDA": lambda: torch.profiler.profile(activities=[activity.CUDA]),
        "torch.profiler, CPU and CUDA": lambda: torch.profiler.profile(
            activities=[activity.CPU, activity.CUDA]
        ),
        "nothing, afterwards": contextlib.nullcontext,
    }


def _loop(torch: Any, x: Any, *, scoped: bool, operations: int) -> float:
    import kinetograph as kg

    torch.cuda.synchronize()
    begin = time.perf_counter()
    if scoped:
        for _ in range(operations):
            with kg.scope("add"):
                x.add_(1)
    else:
        for _ in range(operations):
            x.add_(1)
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / operations * 1e6


def run(*, quick: bool) -> str:
    """A table in Markdown: microseconds per operation, and what of that is added."""
    os.environ.setdefault("TEARDOWN_CUPTI", "1")  # or torch keeps CUPTI from its first profile on
    import torch

    x = torch.zeros(64, device="cuda")
    operations, rounds = (1000, 1) if quick else (OPERATIONS, ROUNDS)
    _loop(torch, x, scoped=False, operations=operations)
    contenders = _contenders(torch)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, profiled in contenders.items():
            with profiled():
                times[name].append(_loop(torch, x, scoped="scopes" in name, operations=operations))
            x.add_(1)  # where CUPTI is let go of
            torch.cuda.synchronize()
    base = statistics.median(times["nothing"])
    rows = ["| recorded by | us per operation | added |", "|---|---|---|"]
    for name, taken in times.items():
        middle = statistics.median(taken)
        rows.append(f"| {name} | {middle:.2f} | {middle - base:+.2f} |")
    return f"{torch.cuda.get_device_name(0)}, {operations} operations\n\n" + "\n".join(rows)


if __name__ == "__main__":
    print(run(quick="--quick" in sys.argv))

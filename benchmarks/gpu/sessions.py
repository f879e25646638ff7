"""Sessions one behind the other, as an operator's captures of a job: what each takes, and what it leaves.

Ours and the bare client let go of CUPTI at each end and take it up again: that is most of their time, and of
the memory that they leave. torch.profiler keeps CUPTI.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from benchmarks.floor.cupti import load_client
from benchmarks.gpu import describe_gpu
from benchmarks.gpu.many_kernels import count_kernels
from benchmarks.gpu.ours import FLOOR, OURS, floor
from benchmarks.gpu.torchs import TORCH
from benchmarks.harness import in_fresh_process
from benchmarks.report import Claim, claims_table, ratio, table

OPERATIONS = 100
START, STOP, CALL = "ms to start", "ms to stop", "us, first operation behind"
GROWTH = "MiB more at the end than after a tenth"

Session = Callable[[], AbstractContextManager[Any]]


def run(*, quick: bool) -> str:
    sessions, of_torch = (20, 10) if quick else (1_000, 100)
    ours = in_fresh_process(ours_in_a_row, sessions)
    least = in_fresh_process(bare_in_a_row, sessions)
    torchs = in_fresh_process(torchs_in_a_row, of_torch)
    rows = [(what, *(f"{each[what]:,.2f}" for each in (ours, least, torchs))) for what in ours]
    claims = [
        Claim("start and stop: ours / bare client's", spent(ours) / spent(least), at_most=1.5),
        Claim("kernels missing in the last session", OPERATIONS - ours["kernels in the last"], at_most=0),
        Claim(f"{GROWTH}: ours / bare client's", ratio(ours[GROWTH], least[GROWTH]), at_most=1.5),
    ]
    title = f"# {sessions:,} sessions in a row, {of_torch} of torch's, {OPERATIONS} operations in each"
    return "\n\n".join(
        [title, describe_gpu(), table(("median", OURS, FLOOR, TORCH), rows), claims_table(claims)]
    )


def spent(figures: dict[str, float]) -> float:
    return figures[START] + figures[STOP]


def ours_in_a_row(sessions: int) -> dict[str, float]:
    import kinetograph as kg

    return in_a_row(
        sessions, lambda: kg.profile(activities=["cuda"]), lambda profile: count_kernels(profile.trace)
    )


def bare_in_a_row(sessions: int) -> dict[str, float]:
    client = load_client()
    return in_a_row(sessions, lambda: floor(client), lambda nothing: 0)


def torchs_in_a_row(sessions: int) -> dict[str, float]:
    from torch.profiler import ProfilerActivity, profile

    return in_a_row(sessions, lambda: profile(activities=[ProfilerActivity.CUDA]), kernels_of_torchs)


def in_a_row(sessions: int, session: Session, kernels_of: Callable[[Any], int]) -> dict[str, float]:
    import torch

    x = torch.zeros(64, device="cuda")
    x.add_(1)
    torch.cuda.synchronize()
    taken: dict[str, list[float]] = {START: [], STOP: [], CALL: []}
    seen, memory_mib = 0, []
    for _ in range(sessions):
        recorded, times = one(session(), torch, x)
        for what, value in zip(taken, times, strict=True):
            taken[what].append(value)
        seen = kernels_of(recorded)
        memory_mib.append(resident_mib())
    medians = {what: statistics.median(values) for what, values in taken.items()}
    growth = memory_mib[-1] - memory_mib[sessions // 10]
    return medians | {"kernels in the last": seen, GROWTH: growth}


def one(session: AbstractContextManager[Any], torch: Any, x: Any) -> tuple[Any, tuple[float, float, float]]:
    begin = time.perf_counter()
    recorded = session.__enter__()
    started = time.perf_counter()
    for _ in range(OPERATIONS):
        x.add_(1)
    torch.cuda.synchronize()
    recording = time.perf_counter()
    session.__exit__(None, None, None)
    stopped = time.perf_counter()
    x.add_(1)
    called = time.perf_counter()
    torch.cuda.synchronize()
    return recorded, ((started - begin) * 1e3, (stopped - recording) * 1e3, (called - stopped) * 1e6)


def kernels_of_torchs(profiler: Any) -> int:
    return sum("elementwise_kernel" in event.name() for event in profiler.profiler.kineto_results.events())


def resident_mib() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20

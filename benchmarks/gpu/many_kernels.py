"""A million kernels in one session: none lost, and memory bounded."""

from __future__ import annotations

import resource
import time
from typing import Any

from benchmarks.gpu import describe_gpu
from benchmarks.harness import in_fresh_process
from benchmarks.report import Claim, claims_table, table

LIMIT_MIB = 256


def run(*, quick: bool) -> str:
    kernels = 10_000 if quick else 1_000_000
    figures = in_fresh_process(record, kernels)
    rows = [(name, f"{value:,.1f}") for name, value in figures.items()]
    lost = kernels - figures["kernels in the trace"]
    claims = [
        Claim("kernels lost", lost, at_most=0),
        # The limit is for records; CUPTI has buffers of its own.
        Claim("MiB of memory beyond the limit", figures["MiB while recording"] - LIMIT_MIB, at_most=64),
    ]
    title = f"# {kernels:,} kernels in one session, memory limit {LIMIT_MIB} MiB"
    return "\n".join([title, "", describe_gpu(), "", table(("what", ""), rows), "", claims_table(claims)])


def record(kernels: int) -> dict[str, float]:
    import torch

    import kinetograph as kg

    x = torch.zeros(64, device="cuda")
    x.add_(1)
    torch.cuda.synchronize()
    with kg.profile(activities=["cuda"]):
        x.add_(1)
    x.add_(1)
    before = peak_mib()
    limit = kg.RecordOptions(memory_limit_bytes=LIMIT_MIB << 20)
    profile = kg.profile(activities=["cuda"], recording=limit)
    profile.start()
    begin = time.perf_counter()
    for _ in range(kernels):
        x.add_(1)
    torch.cuda.synchronize()
    recorded = time.perf_counter()
    while_recording = peak_mib() - before
    profile.stop()
    stopped = time.perf_counter()
    return {
        "kernels in the trace": count_kernels(profile.trace),
        "events": len(profile.trace),
        "seconds recording": recorded - begin,
        "seconds to stop": stopped - recorded,
        "MiB while recording": while_recording,
        "MiB at stop": peak_mib() - before,
    }


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def count_kernels(trace: Any) -> int:
    return int((trace.columns["category"] == trace.categories.index("kernel")).sum())

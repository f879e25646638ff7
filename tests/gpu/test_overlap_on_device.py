"""Kernels that run at the same time, on one stream and on several, and when they begin."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from tests.on_device import kernels

import kinetograph as kg

triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402


@triton.jit  # type: ignore[untyped-decorator]
def spin(out, turns):  # type: ignore[no-untyped-def]  # Triton reads annotations
    tl.extra.cuda.gdc_launch_dependents()
    value = 0.0
    for _ in range(turns):
        value = tl.sin(value) + 1.0
    tl.store(out, value)


def overlaps(found: list[kg.Event]) -> int:
    return sum(after.start_ns < before.end_ns for before, after in itertools.pairwise(found))


def record_spinning(torch: Any) -> kg.Trace:
    out = torch.zeros(1, device="cuda")
    spin[(1,)](out, 20_000, launch_pdl=True)
    torch.cuda.synchronize()
    with kg.profile(activities=["cpu", "cuda"]) as p, kg.scope("spinning"):
        for _ in range(20):
            spin[(1,)](out, 20_000, launch_pdl=True)
    return p.trace


def test_kernels_that_overlap_on_one_stream_are_all_shown(torch: Any, tmp_path: Path) -> None:
    trace = record_spinning(torch)
    found = kernels(trace)
    assert len(found) == 20
    assert overlaps(found) > 0
    assert len({event.args["stream"] for event in found}) == 1
    for name in ("trace.json", "trace.pftrace"):
        trace.save(tmp_path / name)
        assert len(kernels(kg.load(tmp_path / name))) == 20


def test_kernels_of_several_streams_overlap(torch: Any) -> None:
    out = torch.zeros(1, device="cuda")
    spin[(1,)](out, 20_000)
    streams = [torch.cuda.Stream() for _ in range(4)]
    torch.cuda.synchronize()
    with kg.profile(activities=["cpu", "cuda"]) as p:
        for stream in streams * 3:
            with torch.cuda.stream(stream):
                spin[(1,)](out, 20_000)
    found = kernels(p.trace)
    assert len(found) == 12
    assert len({event.args["stream"] for event in found}) == 4
    assert overlaps(found) > 0


def test_no_kernel_begins_before_its_launch(torch: Any) -> None:
    """Not even by what the clocks may be apart, which the trace states."""
    x = torch.zeros(64, device="cuda")
    with kg.profile(activities=["cuda"]) as p:
        for turn in range(20_000):
            x.add_(1)
            if turn % 100 == 0:
                torch.cuda.synchronize()
    launches = {event.correlation_id: event for event in p.trace.events if event.name == "cudaLaunchKernel"}
    earliest = min(event.start_ns - launches[event.correlation_id].start_ns for event in kernels(p.trace))
    stated = [note.text for note in p.trace.notes if note.kind == "clock"]
    print(f"earliest begin of a kernel after its launch: {earliest} ns; {stated}")
    assert earliest >= 0

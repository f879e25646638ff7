"""Annotations of real libraries beside the kernels they launch: NCCL's, and PyTorch's by NVTX."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kinetograph as kg

PROGRAM = """
import os, socket, torch, torch.distributed as dist
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
dist.init_process_group("nccl", rank=0, world_size=1)
x = torch.ones(1 << 20, device="cuda")
dist.all_reduce(x)
torch.cuda.synchronize()
for _ in range(5):
    torch.cuda.nvtx.range_push("step")
    x.add_(1)
    dist.all_reduce(x)
    torch.cuda.nvtx.mark("reduced")
    torch.cuda.nvtx.range_pop()
torch.cuda.synchronize()
started = torch.cuda.nvtx.range_start("tail")
torch.cuda.nvtx.range_end(started)
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def trace(torch: Any, tmp_path_factory: pytest.TempPathFactory) -> kg.Trace:
    folder: Path = tmp_path_factory.mktemp("annotations")
    (folder / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "kinetograph", "run", "--cuda", "-q", "-o", "trace.json", "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return kg.load(folder / "trace.json")


def called(trace: kg.Trace, name: str, category: str = "user_annotation") -> list[kg.Event]:
    return [event for event in trace.events if (event.name, event.category) == (name, category)]


def test_ranges_of_torch_are_user_annotations(trace: kg.Trace) -> None:
    assert len(called(trace, "step")) == 5
    # And where their kernels ran.
    assert len(called(trace, "step", "gpu_user_annotation")) == 5
    assert {event.kind for event in called(trace, "reduced")} == {kg.EventKind.INSTANT}
    assert len(called(trace, "tail")) == 1


def test_nccl_says_what_it_does_in_its_domain(trace: kg.Trace, capsys: pytest.CaptureFixture[str]) -> None:
    of_nccl = [event for event in trace.events if event.category == "NCCL"]
    reductions = [event for event in of_nccl if "AllReduce" in event.name]
    with capsys.disabled():
        print("\nNCCL:", sorted({event.name for event in of_nccl}), dict(reductions[-1].args))
    assert len(reductions) == 6
    assert all("payload" in event.args for event in reductions)


def test_kernels_are_tied_to_the_range_that_launched_them(trace: kg.Trace) -> None:
    steps = called(trace, "step")
    kernels = [event for event in trace.events if event.category == "kernel"]
    additions = [kernel for kernel in kernels if "CUDAFunctorOnSelf_add" in kernel.name]
    assert [within(kernel.linked, "step") for kernel in additions].count(True) == len(steps)


def within(event: kg.Event | None, name: str) -> bool:
    while event is not None and event.name != name:
        event = event.parent
    return event is not None

"""Captures of programs that use a GPU, from outside: of ours by their agent, of PyTorch's by the daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.on_device import kernels

import kinetograph as kg
from agents import Agents, own_agents, wait_until
from daemons import own_daemon

TRAINING = """
import torch
weights = torch.randn(256, 256, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weights], lr=0.01)
def train():
    torch.mm(weights, weights).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    torch.cuda.synchronize()
train()
print("ready", flush=True)
while True:
    train()
"""


@pytest.fixture
def agents() -> Iterator[Agents]:
    with own_agents() as mine:
        yield mine


def until_ready(program: Any) -> None:
    assert program.stdout.readline() == "ready\n"


def check_kernels_have_launches(trace: kg.Trace) -> None:
    found = kernels(trace)
    assert len(found) > 50
    launched = {event.correlation_id for event in trace.events if event.category.startswith("cuda_")}
    # One at either end may have its launch outside.
    assert sum(event.correlation_id not in launched for event in found) <= 2


def test_an_agent_records_kernels_again_and_again(agents: Agents, tmp_path: Path) -> None:
    program = agents.start(TRAINING)
    until_ready(program)
    for round_ in range(3):
        done = agents.command(
            "capture", "--pid", program.pid, "--duration", "200ms", "--cuda", "-o", tmp_path / str(round_)
        )
        assert done.returncode == 0, done.stderr
        trace = kg.load(done.stdout.strip())
        check_kernels_have_launches(trace)
        assert any(event.name == "aten::mm" for event in trace.events)


@pytest.mark.slow
def test_pytorch_that_knows_nothing_of_us_is_captured_with_its_kernels(
    agents: Agents, tmp_path: Path
) -> None:
    (agents.root / "kineto.conf").write_text("ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1\n")
    with own_daemon(agents) as daemon:
        program = agents.start_without_agent(
            TRAINING,
            KINETO_USE_DAEMON="1",
            KINETO_CONFIG=str(agents.root / "kineto.conf"),
            KINETO_IPC_SOCKET_DIR=str(daemon.kineto),
        )
        until_ready(program)
        wait_until(lambda: bool(list(agents.sockets.glob(f"kineto-{program.pid}-*.sock"))))
        done = agents.command(
            "capture", "--pid", program.pid, "--duration", "200ms", "--cuda", "-o", tmp_path
        )
        assert done.returncode == 0, done.stderr
        check_kernels_have_launches(kg.load(done.stdout.strip()))

"""Processes of PyTorch that know nothing of us, through `kinetograph daemon`."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import kinetograph as kg
from agents import own_agents, wait_until
from daemons import Daemon, own_daemon

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="needs PyTorch")

# Takes steps, as its optimizer tells, and polls every second instead of every five.
TRAINING = """
import torch
weights = torch.randn(64, 64, requires_grad=True)
optimizer = torch.optim.SGD([weights], lr=0.01)
def train():
    torch.mm(weights, weights).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
# The first one imports, and PyTorch 2.13 writes a name among those calls that breaks its JSON.
train()
print("ready", flush=True)
while True:
    train()
"""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with own_agents() as agents, own_daemon(agents) as mine:
        (agents.root / "kineto.conf").write_text("ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1\n")
        yield mine


def start_training(daemon: Daemon, **variables: str) -> subprocess.Popen[str]:
    """It takes steps and polls, when this returns."""
    own = {
        "KINETO_USE_DAEMON": "1",
        "KINETO_CONFIG": str(daemon.agents.root / "kineto.conf"),
        "KINETO_IPC_SOCKET_DIR": str(daemon.kineto),
        "OMP_NUM_THREADS": "1",
    }
    program = daemon.agents.start_without_agent(TRAINING, **own | variables)
    assert program.stdout is not None
    assert program.stdout.readline() == "ready\n"
    wait_until(lambda: bool(list(daemon.agents.sockets.glob(f"kineto-{program.pid}-*.sock"))))
    return program


def names(path: str) -> list[str]:
    return [event.name for event in kg.load(path).events]


@pytest.mark.slow
def test_two_processes_of_pytorch_are_captured_at_once_with_shapes_and_stack(
    daemon: Daemon, tmp_path: Path
) -> None:
    programs = [start_training(daemon, RANK=str(rank), WORLD_SIZE="2") for rank in range(2)]
    options = ("--duration", "200ms", "--with-stack", "--record-shapes")
    done = daemon.agents.command("capture", "--all", *options, "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    paths = done.stdout.splitlines()
    assert {Path(path).name.partition("-rank")[2] for path in paths} == {
        f"{rank}-{program.pid}.json" for rank, program in enumerate(programs)
    }
    for path in paths:
        trace = kg.load(path)
        multiplied = [event for event in trace.events if event.name == "aten::mm"]
        assert [[64, 64], [64, 64]] in [event.shapes for event in multiplied]
        assert any(event.category == "python_function" and "train" in event.name for event in trace.events)
    # The same process again, by its job and its steps.
    third = start_training(daemon, SLURM_JOB_ID="815")
    done = daemon.agents.command("capture", "--job", 815, "--steps", 3, "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).name.endswith(f"-{third.pid}.json")
    steps = names(done.stdout.strip()).count("Optimizer.step#SGD.step")
    assert 3 <= steps < 50  # Kineto ends it some steps later; for a time it would be hundreds


@pytest.mark.slow
def test_a_client_of_dynolog_triggers_pytorch(daemon: Daemon) -> None:
    program = start_training(daemon)
    path = daemon.agents.captures / "x.json"
    config = f"ACTIVITIES_LOG_FILE={path}\nACTIVITIES_DURATION_MSECS=50\nACTIVITIES_WARMUP_PERIOD_SECS=0\n"
    answer = daemon.call("setKinetOnDemandRequest", config=config, pids=[program.pid], job_id=0)
    assert answer is not None
    assert answer["activityProfilersTriggered"] == [program.pid]
    written = daemon.agents.captures / f"x_{program.pid}.json"
    wait_until(written.exists)
    assert "aten::mm" in names(str(written))


@pytest.mark.slow
def test_processes_of_pytorch_and_ours_begin_at_one_time_on_many_hosts(
    daemon: Daemon, tmp_path: Path
) -> None:
    torch_program = start_training(daemon, RANK="0", WORLD_SIZE="2")
    ours = daemon.agents.start(
        "import time\nimport kinetograph as kg\nwhile True:\n    with kg.scope('work'): time.sleep(0.001)\n",
        RANK="1",
        WORLD_SIZE="2",
    )
    done = daemon.agents.command(
        "capture", "--hosts", daemon.host, "--all", "--duration", "300ms", "-o", tmp_path
    )
    assert done.returncode == 0, done.stderr
    paths = {
        int(Path(path).name.partition(".json")[0].rpartition("-")[2]): path for path in done.stdout.split()
    }
    assert set(paths) == {torch_program.pid, ours.pid}
    merged = daemon.agents.command("merge", tmp_path, "-o", tmp_path / "all.pftrace")
    assert merged.returncode == 0, merged.stderr
    assert {"aten::mm", "work"} <= set(names(str(tmp_path / "all.pftrace")))

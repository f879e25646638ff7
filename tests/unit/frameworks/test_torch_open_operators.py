"""Operators that still run when their session ends: what a job hangs in."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.torch_programs import Seen, operators_of, relative

import kinetograph as kg

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed here")

HERE = Path(__file__).parent


class Stops(torch.autograd.Function):  # type: ignore[misc,name-defined]
    """Calls `stop` in the midst of its backward pass."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, stop: Callable[[], None]) -> Any:
        ctx.stop = stop
        return tensor * 2

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        gradient = gradient * 2
        ctx.stop()
        return gradient, None


def step(stop: Callable[[], None]) -> None:
    tensor = torch.ones(3, 4, requires_grad=True)
    with torch.profiler.record_function("outer", "some text"):
        Stops.apply(tensor, stop).sum().backward()


def told(profile: Any, path: Path) -> list[Seen]:
    """Of each operator, with sequence numbers from 0 on."""
    profile.export_chrome_trace(str(path))
    (seen,) = operators_of(path)
    return relative(seen)


@pytest.mark.parametrize("with_shapes", [False, True])
def test_those_that_are_open_have_all_that_torchs_profiler_tells_once_they_have_ended(
    with_shapes: bool, tmp_path: Path
) -> None:
    """Torch's own is not stopped within one: it tells what lay in memory, or crashes."""
    profile = kg.profile(record_shapes=with_shapes)
    profile.start()
    step(profile.stop)
    ours = told(profile, tmp_path / "ours.json")
    is_open = [operator.name for operator in ours if operator.args.pop("finished", True) is False]
    assert is_open == ["outer", "autograd::engine::evaluate_function: StopsBackward", "StopsBackward"]
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=with_shapes
    ) as whole:
        step(lambda: None)
    theirs = told(whole, tmp_path / "theirs.json")
    assert ours == theirs[: len(ours)]


def test_a_session_of_another_thread_has_them_too() -> None:
    is_within, is_stopped = threading.Event(), threading.Event()

    def wait() -> None:
        is_within.set()
        is_stopped.wait(timeout=60)

    with kg.profile(record_shapes=True) as profile:
        thread = threading.Thread(target=partial(step, wait))
        thread.start()
        assert is_within.wait(timeout=60)
    is_stopped.set()
    thread.join()
    (hangs,) = (event for event in profile.events() if event.name == "StopsBackward")
    (forward,) = (event for event in profile.events() if event.name == "Stops")
    assert not hangs.finished
    assert hangs.shapes == [[3, 4]]
    assert hangs.sequence_number == forward.sequence_number


def test_a_killed_process_has_left_them(tmp_path: Path) -> None:
    program = f"""
import os, signal, sys
sys.path[:0] = {[str(HERE), str(HERE.parents[2])]}
from {__name__} import step
step(lambda: os.kill(os.getpid(), signal.SIGKILL))
"""
    trace = tmp_path / "trace.json"
    command = [
        sys.executable,
        "-m",
        "kinetograph",
        "run",
        "-q",
        "--record-shapes",
        "-o",
        trace,
        "-c",
        program,
    ]
    done = subprocess.run(command, check=False, timeout=300)
    assert done.returncode == -signal.SIGKILL
    (hangs,) = (event for event in kg.load(trace).events if event.name == "StopsBackward")
    assert not hangs.finished
    assert hangs.shapes == [[3, 4]]

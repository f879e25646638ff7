"""One trace of a training step on a GPU: Python calls, operators, runtime calls and kernels, all linked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.on_device import BOTH, kernels

import kinetograph as kg


@pytest.fixture(scope="module")
def step(torch: Any) -> Callable[[], None]:
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(16384, 10)
    ).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    images = torch.randn(8, 3, 32, 32, device="cuda")
    labels = torch.randint(0, 10, (8,), device="cuda")

    def one() -> None:
        with torch.profiler.record_function("step"):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
        torch.cuda.synchronize()

    one()
    return one


@pytest.fixture(scope="module")
def trace(step: Callable[[], None]) -> kg.Trace:
    with kg.profile(activities=BOTH, with_stack=True, record_shapes=True) as p:
        step()
    return p.trace


def operators(trace: kg.Trace) -> list[kg.Event]:
    return [event for event in trace.events if event.category == "cpu_op"]


def test_all_layers_are_in_one_trace(trace: kg.Trace) -> None:
    found = Counter(event.category for event in trace.events)
    for layer in ("python_function", "user_annotation", "cpu_op", "cuda_runtime", "kernel"):
        assert found[layer] > 0, found


def test_every_kernel_hangs_on_an_operator(trace: kg.Trace) -> None:
    causes = {kernel.linked.category if kernel.linked else None for kernel in kernels(trace)}
    assert causes <= {"cpu_op", "user_annotation"}
    by_operator = [
        kernel for kernel in kernels(trace) if kernel.linked and kernel.linked.category == "cpu_op"
    ]
    assert len(by_operator) >= 0.9 * len(kernels(trace))


def test_backward_operators_run_on_autograds_thread_and_know_their_forward(trace: kg.Trace) -> None:
    backward = [event for event in operators(trace) if event.name.startswith("autograd::engine")]
    assert backward
    main = next(event for event in trace.events if event.name == "step").thread_id
    assert {event.thread_id for event in backward} != {main}
    forward = {event.sequence_number for event in operators(trace) if event.thread_id == main}
    assert {event.sequence_number for event in backward if event.sequence_number >= 0} <= forward


def test_operators_and_kernels_are_those_of_torchs_profiler(
    torch: Any, step: Callable[[], None], trace: kg.Trace, tmp_path: Path
) -> None:
    step()  # lets go of CUPTI
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, record_shapes=True) as theirs:
        step()
    theirs.export_chrome_trace(str(tmp_path / "theirs.json"))
    other = kg.load(tmp_path / "theirs.json")
    assert Counter(e.name for e in operators(trace)) == Counter(e.name for e in operators(other))
    assert Counter(e.name for e in kernels(trace)) == Counter(e.name for e in kernels(other))
    assert _causes(trace) == _causes(other)


def _causes(trace: kg.Trace) -> Counter[tuple[str, str]]:
    return Counter((kernel.name, kernel.linked.name if kernel.linked else "") for kernel in kernels(trace))

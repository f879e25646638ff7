"""A trace recorded on an H200: training steps, kernels that overlap, a graph, two streams, waiting."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path

import pytest

import kinetograph as kg
from judges import needs_judges, perfetto, python_judge

RECORDED = Path(__file__).parents[1] / "traces" / "h200_training.json.gz"
LAUNCHES = ("cuda_runtime", "cuda_driver")


@pytest.fixture(scope="module")
def trace() -> kg.Trace:
    return kg.load(RECORDED)


def kernels(trace: kg.Trace) -> list[kg.Event]:
    return [event for event in trace.events if event.category == "kernel"]


def test_every_kernel_has_a_launch_and_begins_after_it(trace: kg.Trace) -> None:
    launches = {event.correlation_id: event for event in trace.events if event.category in LAUNCHES}
    assert len(kernels(trace)) == 316
    for kernel in kernels(trace):
        assert kernel.start_ns >= launches[kernel.correlation_id].start_ns


def test_nodes_of_a_graph_belong_to_its_launch(trace: kg.Trace) -> None:
    nodes = [kernel for kernel in kernels(trace) if kernel.args["graph id"]]
    assert len(nodes) == 6
    assert {node.linked.name for node in nodes if node.linked} == {"replay"}
    assert len({node.correlation_id for node in nodes}) == 2


@pytest.mark.slow
@needs_judges
@pytest.mark.parametrize("suffix", [".json", ".pftrace"])
def test_perfetto_shows_all_kernels_although_they_overlap(
    trace: kg.Trace, tmp_path: Path, suffix: str
) -> None:
    by_stream = itertools.groupby(
        sorted(kernels(trace), key=lambda each: (each.args["stream"], each.start_ns)),
        key=lambda each: each.args["stream"],
    )
    pairs = [pair for _, found in by_stream for pair in itertools.pairwise(found)]
    assert any(after.start_ns < before.end_ns for before, after in pairs)
    path = tmp_path / f"trace{suffix}"
    trace.save(path)
    assert perfetto(path, "select name, value from stats where value > 0 and severity != 'info'") == []
    (found,) = perfetto(path, "select count(*) n, sum(dur) total from slice where category = 'kernel'")
    total = sum(kernel.duration_ns for kernel in kernels(trace))
    assert (int(found["n"]), int(found["total"])) == (316, total)


@pytest.mark.slow
@needs_judges
def test_hta_runs_its_analyses(tmp_path: Path) -> None:
    shutil.copy(RECORDED, tmp_path / "rank0.json.gz")
    steps = [json.loads(line) for line in python_judge("hta", "hta_run.py", tmp_path).splitlines()]
    failed = {step["step"] for step in steps if "ERROR" in step}
    # It rounds times to microseconds, after which some spans no longer nest.
    assert failed <= {"frequent_cuda_kernel_sequences"}
    assert {"temporal_breakdown", "idle_time", "queue_length_summary", "critical_path"} <= {
        step["step"] for step in steps
    }

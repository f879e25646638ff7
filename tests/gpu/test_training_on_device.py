"""One trace of a step of distributed training: every layer, all linked, beside what torch's own say."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.execution_traces import Graph, attributes, loaded, same_nodes
from tests.on_device import kernels

import kinetograph as kg

PROGRAM = Path(__file__).parent / "programs" / "trains_with_nccl.py"
COLLECTIVE = "record_param_comms"


@pytest.fixture(scope="module")
def folder(torch: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not torch.distributed.is_nccl_available():
        pytest.skip("this torch has no NCCL")
    folder: Path = tmp_path_factory.mktemp("training")
    done = subprocess.run(
        [sys.executable, PROGRAM, folder],
        env=os.environ | {"TEARDOWN_CUPTI": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def trace(folder: Path) -> kg.Trace:
    return kg.load(folder / "ours.json")


@pytest.fixture(scope="module")
def torchs(folder: Path) -> kg.Trace:
    return kg.load(folder / "theirs.json")


def named(trace: kg.Trace, name: str) -> list[kg.Event]:
    found = [event for event in trace.events if event.name == name]
    return sorted(found, key=lambda event: event.start_ns)


def above(event: kg.Event | None) -> list[kg.Event]:
    """An event and all those it is in."""
    found = []
    while event is not None:
        found.append(event)
        event = event.parent
    return found


def test_every_layer_is_in_the_trace(trace: kg.Trace) -> None:
    found = Counter(event.category for event in trace.events)
    for layer in ("python_function", "cpu_op", "cuda_runtime", "kernel", "user_annotation", "NCCL"):
        assert found[layer] > 0, found


def test_a_kernel_of_a_layer_leads_to_its_operator_its_modules_and_the_function_that_called_them(
    trace: kg.Trace,
) -> None:
    (first, *_others) = (kernel for kernel in kernels(trace) if kernel.linked and _is_product(kernel))
    path = [event.name for event in above(first.linked)]
    assert "aten::addmm" in path
    modules = [name for name in path if name.startswith("nn.Module: ")]
    assert [name.removeprefix("nn.Module: ").rsplit("_", 1)[0] for name in modules] == [
        "Linear",
        "Block",
        "Sequential",
        "DistributedDataParallel",
    ]
    assert any(name.endswith(": train") for name in path), path


def _is_product(kernel: kg.Event) -> bool:
    return any(event.name == "aten::addmm" for event in above(kernel.linked))


def test_kernels_and_their_operators_are_those_of_torchs_profiler(trace: kg.Trace, torchs: kg.Trace) -> None:
    assert Counter(e.name for e in kernels(trace)) == Counter(e.name for e in kernels(torchs))
    # Torch takes the operator also where a range inside of it is nearer.
    for ours, theirs in zip(by_launch(trace), by_launch(torchs), strict=True):
        assert theirs.linked is not None
        assert theirs.linked.name in [event.name for event in above(ours.linked)], ours.name


def by_launch(trace: kg.Trace) -> list[kg.Event]:
    """In an order that both traces have: on each stream it is that of the launches."""
    return sorted(kernels(trace), key=lambda kernel: (kernel.name, kernel.start_ns))


def test_collectives_say_of_which_process_group_as_torchs_do(trace: kg.Trace, torchs: kg.Trace) -> None:
    ours, theirs = named(trace, COLLECTIVE), named(torchs, COLLECTIVE)
    assert len(ours) == len(theirs) > 0
    keys = "Collective name", "dtype", "In msg nelems", "Out msg nelems", "Group size", "Process Group Name"
    for key in (*keys, "Process Group Description", "Process Group Ranks"):
        assert [e.args.get(key) for e in ours] == [e.args.get(key) for e in theirs], key
    assert ours[0].args["Collective name"] == "allreduce"
    assert "Process Group Name" in ours[0].args


def test_kernels_of_collectives_say_what_torchs_do(trace: kg.Trace, torchs: kg.Trace) -> None:
    keys = "Collective name", "dtype", "In msg nelems", "Out msg nelems", "Group size", "Process Group Name"
    for ours, theirs in zip(by_launch(trace), by_launch(torchs), strict=True):
        assert [ours.args.get(key) for key in keys] == [theirs.args.get(key) for key in keys], ours.name


def test_ranges_of_nccl_are_inside_the_operators_that_called_it(trace: kg.Trace) -> None:
    reductions = [e for e in trace.events if e.category == "NCCL" and "AllReduce" in e.name]
    assert len(reductions) == len(named(trace, COLLECTIVE))
    assert all(any("allreduce" in each.name for each in above(event)) for event in reductions)
    reported = [event for event in reductions if any(each.name == "report" for each in above(event))]
    assert len(reported) == 1


def test_execution_traces_tell_of_collectives_as_torchs_do(folder: Path) -> None:
    ours, theirs = (Graph(loaded(folder / f"{who}.et.json")) for who in ("ours", "theirs"))
    ours.check()
    for graph in (ours, theirs):
        graph.forget("## process_group:init ##")  # each of the two says it when it starts
    assert same_nodes(ours, theirs) > 50
    collectives = [node for node in ours.nodes if node["name"] == COLLECTIVE]
    assert collectives
    assert attributes(collectives[0])["collective_name"] == "allreduce"
    assert attributes(collectives[0])["pg_name"]

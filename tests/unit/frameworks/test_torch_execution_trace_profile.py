"""Execution traces of what a profile records: the observer that it was given, ours or torch's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.execution_traces import Graph, loaded
from tests.torch_programs import convolution_step

import kinetograph as kg

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed here")


def test_nodes_link_to_the_operators_of_our_profile(tmp_path: Path) -> None:
    step = convolution_step()
    observer = kg.ExecutionTraceObserver().register_callback(tmp_path / "graph.json")
    with kg.profile(execution_trace_observer=observer) as profile:
        step()
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    graph = Graph(loaded(tmp_path / "graph.json"))
    graph.check()
    spans = {
        event["args"]["Record function id"]: event["name"]
        for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
        if event.get("cat") in ("cpu_op", "user_annotation")
    }
    assert {function: node["name"] for function, node in graph.by_function.items()} == spans
    assert len(spans) > 50
    again = kg.load(tmp_path / "trace.json")
    assert {
        event.record_function_id: event.name for event in again.events if event.record_function_id
    } == spans


def test_without_an_execution_trace_operators_have_no_number(tmp_path: Path) -> None:
    with kg.profile() as profile:
        torch.ones(2)
    assert [event.record_function_id for event in profile.events() if event.name == "aten::ones"] == [0]


def test_the_observer_follows_the_schedule(tmp_path: Path) -> None:
    observer = kg.ExecutionTraceObserver().register_callback(tmp_path / "graph.json.gz")
    with kg.profile(
        schedule=kg.schedule(wait=1, warmup=1, active=1, repeat=2), execution_trace_observer=observer
    ) as profile:
        for number in range(8):
            with torch.profiler.record_function(f"step {number}"):
                torch.ones(1)
            profile.step()
    assert not observer.is_registered
    graph = Graph(loaded(tmp_path / "graph.json.gz"))
    graph.check()
    assert [name for name in graph.names() if name.startswith("step")] == ["step 2", "step 5"]


class Failing:
    def start(self) -> None: ...

    def stop(self) -> None:
        raise OSError("of the observer")

    cleanup = stop


def test_a_profile_outlives_an_observer_that_fails_and_the_program_its_own_error() -> None:
    ready: list[int] = []
    profile = kg.profile(
        execution_trace_observer=Failing(), on_trace_ready=lambda profile: ready.append(len(profile.events()))
    )

    def program() -> None:
        with profile:
            torch.ones(1)
            raise LookupError("of the program")

    failed = r"cleanup\(\) of its observer failed: OSError\('of the observer'\)"
    with pytest.raises(LookupError, match="of the program"), pytest.warns(UserWarning, match=failed):
        program()
    assert ready == [len(profile.events())] != [0]
    assert not torch.autograd.profiler._is_profiler_enabled


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("action", [kg.ProfilerAction.WARMUP, kg.ProfilerAction.RECORD])
def test_a_profile_ends_where_the_warning_of_its_failing_observer_is_an_error(
    action: kg.ProfilerAction,
) -> None:
    profile = kg.profile(execution_trace_observer=Failing(), schedule=lambda step: action)
    profile.start()
    with pytest.raises(UserWarning, match="the execution trace may be missing"):
        profile.stop()
    assert profile.profiler is not None
    assert not profile.profiler.is_running
    assert not torch.autograd.profiler._is_profiler_enabled


def test_a_class_is_no_observer() -> None:
    with pytest.raises(kg.ArgumentError, match=r"must have start\(\), stop\(\) and cleanup\(\), got <class"):
        kg.profile(execution_trace_observer=kg.ExecutionTraceObserver)


def test_torchs_own_observer_is_taken_by_our_profile(tmp_path: Path) -> None:
    observer = torch.profiler.ExecutionTraceObserver().register_callback(str(tmp_path / "graph.json"))
    with kg.profile(execution_trace_observer=observer):
        torch.ones(2)
    assert "aten::ones" in Graph(loaded(tmp_path / "graph.json")).names()


def test_torchs_profile_takes_our_observer(tmp_path: Path) -> None:
    observer = kg.ExecutionTraceObserver().register_callback(tmp_path / "graph.json")
    with torch.profiler.profile(execution_trace_observer=observer):
        torch.ones(2)
    assert "aten::ones" in Graph(loaded(tmp_path / "graph.json")).names()

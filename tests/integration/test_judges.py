"""Programs that we did not write open what we write: Perfetto's engine, HTA, torch-tb-profiler."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import kinetograph as kg
from judges import TRACES, hard_trace, needs_judges, needs_traces, perfetto, python_judge, recorded_trace
from kinetograph.trace import EventKind, Trace, load
from sample_traces import NOW_NS

pytestmark = [pytest.mark.slow, needs_judges]


def spans(trace: Trace) -> Counter[tuple[str, int]]:
    return Counter(
        (event.name, event.duration_ns) for event in trace.events if event.kind is not EventKind.COUNTER
    )


def perfetto_spans(path: Path) -> Counter[tuple[str, int]]:
    """Without the row and the markers of the window, which are Kineto's."""
    rows = perfetto(path, "select name, dur, category from slice")
    window = {"PyTorch Profiler (0)", "Iteration Start: PyTorch Profiler", "Record Window End"}
    return Counter((row["name"], int(row["dur"])) for row in rows if row["name"] not in window)


def assert_healthy(path: Path) -> None:
    assert perfetto(path, "select name, value from stats where value > 0 and severity != 'info'") == []


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_perfetto_finds_every_event_with_its_exact_duration(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"trace{suffix}"
    trace = hard_trace()
    trace.save(path)
    assert_healthy(path)
    assert perfetto_spans(path) == spans(trace)
    assert perfetto(path, "select count(*) as n from flow") == [{"n": 1}]
    assert perfetto(path, "select value from counter") == [{"value": 2.5}]


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_perfetto_finds_everything_that_was_recorded(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"trace{suffix}"
    trace = recorded_trace()
    trace.save(path)
    assert_healthy(path)
    assert perfetto_spans(path) == spans(trace)
    assert sum(spans(trace).values()) == 3 * 30 * 2 + 3


@needs_traces
@pytest.mark.parametrize("name", ["h200_torch211_cuda_loop.json.gz", "a100x2_nccl_data.json.gz"])
def test_perfetto_finds_every_event_of_a_real_trace_saved_by_us(tmp_path: Path, name: str) -> None:
    trace = load(Path(TRACES) / name)
    path = tmp_path / "trace.json"
    trace.save(path)
    assert_healthy(path)
    assert perfetto_spans(path) == spans(trace)


def training_rank(rank: int) -> Trace:
    """Two steps of a rank: operators, launches, kernels, a copy and a collective."""
    trace = Trace()
    native = trace.native
    native.name_process(100 + rank, "python", "CPU", 100 + rank)
    native.name_process(rank, "python", f"GPU {rank}", 5_000_000 + rank)
    native.name_track(100 + rank, 1, "thread 1 (python)", 1)
    native.name_track(rank, 7, "stream 7 ", 7, device_type=1, device_index=rank)
    for step in range(3):
        begin_ns = NOW_NS + step * 1_000_000
        native.append(f"ProfilerStep#{step}", "user_annotation", 0, begin_ns, 900_000, 100 + rank, 1)
        work = ["gemm", "ncclDevKernel_AllReduce_Sum_f32", "Memcpy HtoD (Pinned -> Device)"]
        for i, kernel in enumerate(work):
            correlation = 1 + step * 10 + i
            start_ns = begin_ns + 10_000 + i * 100_000
            category = "gpu_memcpy" if kernel.startswith("Memcpy") else "kernel"
            call = "cudaMemcpyAsync" if category == "gpu_memcpy" else "cudaLaunchKernel"
            native.append(f"aten::op{i}", "cpu_op", 0, start_ns, 50_000, 100 + rank, 1)
            native.append(
                call, "cuda_runtime", 0, start_ns + 5_000, 9_000, 100 + rank, 1, correlation=correlation
            )
            args = {"device": rank, "context": 1, "stream": 7, "bytes": 4096, "memory bandwidth (GB/s)": 1.5}
            native.append(
                kernel,
                category,
                0,
                start_ns + 30_000,
                60_000,
                rank,
                7,
                correlation=correlation,
                args_json=json.dumps(args),
            )
    native.sort()
    _link_to_enclosing_operators(trace)
    trace.metadata["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
    native.window = (NOW_NS - 1_000, NOW_NS + 4_000_000)
    return trace


def _link_to_enclosing_operators(trace: Trace) -> None:
    operators = {
        event.correlation_id: event.parent for event in trace.events if event.category == "cuda_runtime"
    }
    for event in trace.events:
        operator = operators.get(event.correlation_id)
        if operator is not None:
            trace.native.set_link(event.row, operator.row)


def test_hta_runs_every_analysis_on_two_ranks(tmp_path: Path) -> None:
    for rank in (0, 1):
        training_rank(rank).save(tmp_path / f"rank{rank}.json.gz")
    steps = [json.loads(line) for line in python_judge("hta", "hta_run.py", tmp_path).splitlines()]
    assert [step for step in steps if "ERROR" in step] == []
    (loaded,) = [step for step in steps if step["step"] == "load"]
    assert loaded["ranks"] == [0, 1]
    # Two of three steps: HTA leaves the last one out.
    assert loaded["rows"]["0"] == loaded["rows"]["1"] > 0


def test_tensorboard_finds_kernels_and_operators(tmp_path: Path) -> None:
    path = tmp_path / "worker.pt.trace.json.gz"
    training_rank(0).save(path)
    found = json.loads(python_judge("tb", "tb_check.py", path))
    (profile,) = found["profiles"]
    assert {"Overview", "Operator", "Kernel", "Trace"} <= set(found["views"])
    assert profile["steps"] == 3
    assert profile["kernels"] == 2
    assert profile["ops"] == 3


def profiled_ranks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What two ranks write that profile three steps each, and pause in one of them."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in (0, 1):
        monkeypatch.setenv("RANK", str(rank))
        handler = kg.tensorboard_trace_handler(folder, f"rank{rank}")
        steps = kg.schedule(wait=0, warmup=1, active=3, repeat=1)
        with kg.profile(schedule=steps, on_trace_ready=handler) as prof:
            for step in range(5):
                with kg.scope("forward", kind=kg.RecordScope.FUNCTION):
                    prof.toggle_collection_dynamic(step != 2, [kg.ActivityType.CPU])
                prof.toggle_collection_dynamic(True, [kg.ActivityType.CPU])
                prof.step()
    return sorted(folder.iterdir())


def test_steps_and_ranks_of_a_profile_are_found_by_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _other = profiled_ranks(tmp_path, monkeypatch)
    found = perfetto(path, "select count(*) as steps from slice where name glob 'ProfilerStep#*'")
    assert found == [{"steps": 3}]
    assert perfetto(path, "select name from stats where value > 0 and severity != 'info'") == []
    (profile,) = json.loads(python_judge("tb", "tb_check.py", path))["profiles"]
    assert (profile["steps"], profile["ops"]) == (3, 1)
    analyses = [json.loads(line) for line in python_judge("hta", "hta_run.py", tmp_path).splitlines()]
    assert [analysis["ranks"] for analysis in analyses if analysis["step"] == "load"] == [[0, 1]]

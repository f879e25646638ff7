"""CUDA for real: memory, pushed ids, whole graphs, tasks of asyncio and versions."""

from __future__ import annotations

import asyncio
import ctypes
import time
from typing import Any

import pytest
from tests.on_device import BOTH, captured_graph, kernels

import kinetograph as kg
from kinetograph import kineto

MEGABYTE = 1 << 20


def changes_of_memory(trace: kg.Trace) -> list[dict[str, Any]]:
    return [dict(event.args) for event in trace.events if event.name == "[memory]"]


def launches(trace: kg.Trace) -> list[kg.Event]:
    return [event for event in trace.events if event.name.startswith(("cudaLaunchKernel", "cuLaunchKernel"))]


def test_what_torch_takes_from_the_device_and_gives_back(torch: Any) -> None:
    torch.cuda.empty_cache()
    with kg.profile(activities=BOTH, profile_memory=True) as p, kg.scope("step"):
        piece = torch.empty(64 * MEGABYTE, dtype=torch.uint8, device="cuda")
        address = piece.data_ptr()
        del piece
        torch.cuda.empty_cache()
    changes = changes_of_memory(p.trace)
    ours = [change for change in changes if change["Addr"] == address]
    assert [change["Bytes"] for change in ours] == [64 * MEGABYTE, -64 * MEGABYTE], changes
    assert ours[0]["Total Allocated"] >= 64 * MEGABYTE
    assert ours[1]["Total Allocated"] == ours[0]["Total Allocated"] - 64 * MEGABYTE
    assert all(change["Device Type"] == 1 and change["Device Id"] == 0 for change in changes)
    averages = {row.key: row for row in p.key_averages()}
    assert averages["cudaMalloc"].device_memory_usage >= 64 * MEGABYTE
    assert averages["cudaFree"].device_memory_usage <= -64 * MEGABYTE


def test_pools_tell_what_they_reserve(torch: Any) -> None:
    cupy = pytest.importorskip("cupy")
    stream = cupy.cuda.Stream()
    with kg.profile(activities=BOTH, profile_memory=True) as p:
        pointer = cupy.cuda.runtime.mallocAsync(MEGABYTE, stream.ptr)
        cupy.cuda.runtime.freeAsync(pointer, stream.ptr)
        stream.synchronize()
    changes = [change for change in changes_of_memory(p.trace) if change["Addr"] == pointer]
    assert [change["Bytes"] for change in changes] == [MEGABYTE, -MEGABYTE]
    assert changes[0]["Total Reserved"] >= MEGABYTE


def test_no_memory_unless_asked_for(torch: Any) -> None:
    torch.cuda.empty_cache()
    with kg.profile(activities=BOTH) as p:
        torch.empty(64 * MEGABYTE, dtype=torch.uint8, device="cuda")
    assert changes_of_memory(p.trace) == []


def test_ids_that_a_thread_pushed_are_arguments_of_its_launches(torch: Any) -> None:
    x = torch.zeros(64, device="cuda")
    with kg.profile(activities=BOTH) as p:
        kineto.push_correlation_id(41)
        x.add_(1)
        kineto.push_user_correlation_id(42)
        x.add_(1)
        kineto.pop_user_correlation_id()
        kineto.pop_correlation_id()
        x.add_(1)
    operators, both, none = (launch.args for launch in launches(p.trace))
    assert operators["External correlation id"] == both["External correlation id"] == 41
    assert both["User correlation id"] == 42
    assert set(none) == {"cbid"}


@pytest.mark.parametrize("when", ["before", "within"])
def test_each_replay_of_a_graph_is_one_event(torch: Any, when: str) -> None:
    x = torch.zeros(64, device="cuda")
    x.add_(1)
    torch.cuda.synchronize()

    graph = captured_graph(torch, x) if when == "before" else None
    asks = kg.ExperimentalConfig(cuda_graphs="launches")
    with kg.profile(activities=BOTH, frameworks=(), experimental_config=asks) as p:
        graph = graph or captured_graph(torch, x)
        with kg.scope("replay"):
            for _ in range(3):
                graph.replay()
        torch.cuda.synchronize()
    replays = [kernel for kernel in kernels(p.trace) if kernel.name == "CUDA Graph"]
    assert len(replays) == 3, [kernel.name for kernel in kernels(p.trace)]
    assert all(replay.linked is not None and replay.linked.name == "replay" for replay in replays)
    assert all(replay.duration_ns > 0 for replay in replays)
    assert not [kernel for kernel in kernels(p.trace) if kernel.linked and kernel.name != "CUDA Graph"]


def test_nodes_again_after_a_session_of_whole_graphs(torch: Any) -> None:
    x = torch.zeros(64, device="cuda")
    x.add_(1)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(5):
            x.add_(1)
    counts: dict[str, list[int]] = {}
    for wanted in ("nodes", "launches", "nodes"):
        asks = kg.ExperimentalConfig(cuda_graphs=wanted)  # type: ignore[arg-type]
        with kg.profile(activities=BOTH, experimental_config=asks) as p:
            graph.replay()
            torch.cuda.synchronize()
        counts.setdefault(wanted, []).append(len(kernels(p.trace)))
        x.add_(1)
    assert counts == {"nodes": [5, 5], "launches": [1]}


def test_tasks_of_asyncio_launch_for_their_own_scopes(torch: Any) -> None:
    streams = {name: torch.cuda.Stream() for name in ("a", "b")}
    x = torch.zeros(64, device="cuda")
    torch.cuda.synchronize()

    async def task(name: str) -> None:
        with kg.scope(name):
            for _ in range(10):
                await asyncio.sleep(0)
                with kg.scope(f"{name} inside"), torch.cuda.stream(streams[name]):
                    x.add_(1)

    async def main() -> None:
        await asyncio.gather(task("a"), task("b"))

    with kg.profile(activities=BOTH, frameworks=()) as p:
        asyncio.run(main())
    owners: dict[int, set[str]] = {}
    for kernel in kernels(p.trace):
        owners.setdefault(kernel.args["stream"], set()).add(kernel.linked.name if kernel.linked else "none")
    assert sorted(map(sorted, owners.values())) == [["a inside"], ["b inside"]]


PTX = """
.version 7.8
.target sm_80
.address_size 64
.visible .entry NAME() { ret; }
"""


def test_compilation_by_the_driver_is_seen_on_the_thread_that_waits_for_it(torch: Any) -> None:
    driver = ctypes.CDLL("libcuda.so.1")
    name = f"made_at_{time.time_ns()}".encode()  # so that no cache has it
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    with kg.profile(activities=BOTH, frameworks=()) as p:
        assert driver.cuModuleLoadData(ctypes.byref(module), PTX.encode().replace(b"NAME", name)) == 0
        assert driver.cuModuleGetFunction(ctypes.byref(function), module, name) == 0
        assert driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None) == 0
        torch.cuda.synchronize()
    driver.cuModuleUnload(module)
    overhead = [event.name for event in p.trace.events if event.category == "overhead"]
    assert any(name.startswith("JIT PTX to cubin") for name in overhead), overhead
    assert [kernel.name for kernel in kernels(p.trace)] == [name.decode()]


@pytest.mark.parametrize("when", ["before", "within"])
def test_the_trace_knows_the_streams_and_their_priority(torch: Any, when: str) -> None:
    urgent = torch.cuda.Stream(priority=-1) if when == "before" else None
    x = torch.zeros(64, device="cuda")
    with kg.profile(activities=BOTH, frameworks=()) as p:
        urgent = urgent or torch.cuda.Stream(priority=-1)
        with torch.cuda.stream(urgent):
            x.add_(1)
        x.add_(1)
    numbers = [kernel.args["stream"] for kernel in kernels(p.trace)]
    known = {stream["stream"]: stream for stream in p.trace.metadata["cuda_streams"]}
    assert set(numbers) <= set(known), known
    assert known[numbers[0]]["priority"] < known[numbers[1]]["priority"] == 0
    assert known[numbers[0]]["device"] == 0


def test_the_trace_has_the_version_of_the_runtime(torch: Any) -> None:
    with kg.profile(activities=BOTH) as p:
        torch.zeros(64, device="cuda")
    major, minor = map(int, torch.version.cuda.split(".")[:2])
    assert p.trace.metadata["cuda_runtime_version"] == major * 1000 + minor * 10

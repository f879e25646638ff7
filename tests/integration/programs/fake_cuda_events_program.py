"""Scopes timed by the fake CUDA's events: tests/integration/test_cuda_events.py runs one of these."""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fake_cuda_program import Cuda

import kinetograph as kg
from kinetograph import _native
from kinetograph.session import observer

MILLISECOND = 1_000_000


class WorkingCuda(Cuda):
    def work(self, ns: int = MILLISECOND) -> None:
        """On the device: events that are recorded behind it happen so much later."""
        self.driver.fake_work(ctypes.c_uint64(ns))

    def capture(self, stream: int) -> None:
        self.driver.fake_capture_stream(ctypes.c_size_t(stream))


def timed(trace: kg.Trace) -> list[dict[str, Any]]:
    return [
        {
            "name": event.name,
            "stream": event.thread_id,
            "ns": event.duration_ns,
            "scope": event.linked.name if event.linked is not None else None,
            "device": event.device_type.name,
        }
        for event in trace.events
        if event.category == "gpu_user_annotation"
    ]


def averages(trace: kg.Trace) -> dict[str, list[int]]:
    """Device times of scopes: total, self."""
    return {
        row.key: [row.device_time_total_ns, row.self_device_time_total_ns]
        for row in trace.key_averages().of_categories("user_annotation")
    }


def summary(trace: kg.Trace) -> dict[str, Any]:
    return {
        "timed": timed(trace),
        "averages": averages(trace),
        "categories": sorted({event.category for event in trace.events}),
        "notes": [note.text for note in trace.notes],
    }


@contextmanager
def events_session() -> Iterator[list[kg.Trace]]:
    """Asked for by state."""
    traces: list[kg.Trace] = []
    kg.enable_profiler(kg.ProfilerConfig(state=kg.ProfilerState.CUDA))
    yield traces
    traces.append(kg.disable_profiler().trace)


def nested_scopes(cuda: WorkingCuda) -> None:
    with kg.scope("outer"):
        cuda.work(2 * MILLISECOND)
        with kg.scope("inner"):
            cuda.work(3 * MILLISECOND)


def asked_for_by_state(state: str, path: str) -> dict[str, Any]:
    cuda = WorkingCuda().initialise()
    kg.enable_profiler(kg.ProfilerConfig(state=kg.ProfilerState[state]))
    nested_scopes(cuda)
    is_subscribed = cuda.cupti.fake_is_subscribed()
    trace = kg.disable_profiler().trace
    trace.save(path)
    table = trace.key_averages().table()
    again = averages(kg.load(path))
    return {**summary(trace), "is_subscribed": is_subscribed, "table": table, "again": again}


def another_tool_owns_cupti() -> dict[str, Any]:
    cuda = WorkingCuda().initialise()
    sys.modules["torch"] = types.ModuleType("torch")
    cuda.cupti.fake_fail(b"cuptiSubscribe", 39)
    with kg.profile(activities=["cpu", "cuda"]) as p:
        nested_scopes(cuda)
    cuda.cupti.fake_fail(b"cuptiSubscribe", 0)
    with kg.profile(activities=["cpu", "cuda"]) as again, kg.scope("step"):
        cuda.launch()
    return {**summary(p.trace), "again": summary(again.trace), "events": cuda.driver.fake_events()}


def cupti_is_refused_while_recording() -> dict[str, Any]:
    cuda = WorkingCuda()
    cuda.cupti.fake_fail(b"cuptiSubscribe", 39)
    with kg.profile(activities=["cpu", "cuda"]) as p:
        with kg.scope("before CUDA"):
            pass
        cuda.initialise()
        while not _native.scope_timer_is_ready():
            time.sleep(0.001)
        nested_scopes(cuda)
    with kg.profile(activities=["cpu"]), kg.scope("afterwards"):
        pass
    return {**summary(p.trace), "callbacks": len(observer._alive)}


def a_later_session_has_more_luck() -> dict[str, Any]:
    cuda = WorkingCuda().initialise()
    cuda.cupti.fake_fail(b"cuptiSubscribe", 39)
    with kg.profile(activities=["cpu", "cuda"]) as p:
        nested_scopes(cuda)
        cuda.cupti.fake_fail(b"cuptiSubscribe", 0)
        later = kg.profile(activities=["cpu", "cuda"])
        later.start()
        cuda.launch()
    later.stop()
    return {**summary(p.trace), "later": summary(later.trace)}


def cupti_is_refused_and_a_pause_sees_it_first() -> dict[str, Any]:
    cuda = WorkingCuda()
    cuda.cupti.fake_fail(b"cuptiSubscribe", 39)
    with kg.profile(activities=["cpu", "cuda"]) as p:
        cuda.initialise()
        for is_on in (False, True):
            p.toggle_collection_dynamic(is_on, ["cpu", "cuda"])
        nested_scopes(cuda)
    return {**summary(p.trace), "callbacks": len(observer._alive)}


def torch_is_profiling() -> dict[str, Any]:
    cuda = WorkingCuda().initialise()
    profiler = types.ModuleType("torch.autograd.profiler")
    sys.modules["torch.autograd.profiler"] = profiler
    profiler._is_profiler_enabled = True  # type: ignore[attr-defined]
    with kg.profile(activities=["cpu", "cuda"]) as p:
        nested_scopes(cuda)
        is_subscribed = cuda.cupti.fake_is_subscribed()
    profiler._is_profiler_enabled = False  # type: ignore[attr-defined]
    with kg.profile(activities=["cpu", "cuda"]) as after, kg.scope("step"):
        cuda.launch()
    return {**summary(p.trace), "is_subscribed": is_subscribed, "after": summary(after.trace)}


def streams_of_frameworks() -> dict[str, Any]:
    cuda = WorkingCuda().initialise()
    with events_session() as traces:
        with kg.scope("alone"):
            cuda.work()
        cupy = types.ModuleType("cupy")
        stream = types.SimpleNamespace(ptr=12)
        runtime = types.SimpleNamespace(getDevice=lambda: 0)
        cupy.cuda = types.SimpleNamespace(runtime=runtime, get_current_stream=lambda: stream)  # type: ignore[attr-defined]
        sys.modules["cupy"] = cupy
        with kg.scope("cupy"):
            cuda.work()
        torch = types.ModuleType("torch")
        torch.cuda = types.SimpleNamespace(is_initialized=lambda: True)  # type: ignore[attr-defined]
        torch._C = types.SimpleNamespace(  # type: ignore[attr-defined]
            _cuda_getDevice=lambda: 0, _cuda_getCurrentRawStream=lambda device: 34 + device
        )
        sys.modules["torch"] = torch
        with kg.scope("torch"):
            cuda.work()
        del torch._C  # half imported
        with kg.scope("broken"):
            cuda.work()
    return {event["name"]: event["stream"] for event in timed(traces[0])}


def a_stream_is_captured() -> dict[str, Any]:
    cuda = WorkingCuda().initialise()
    with events_session() as traces:
        cuda.capture(2)
        for _ in range(3):
            with kg.scope("captured"):
                pass
        cuda.capture(0)
        with kg.scope("timed"):
            cuda.work()
    return summary(traces[0])


def cuda_never_appears() -> dict[str, Any]:
    WorkingCuda()
    with events_session() as traces, kg.scope("step"):
        pass
    return summary(traces[0])


def decorated_and_with_calls() -> dict[str, Any]:
    cuda = WorkingCuda().initialise()

    @kg.scope("decorated")
    def decorated() -> None:
        cuda.work()

    kg.enable_profiler(kg.ProfilerConfig(state=kg.ProfilerState.CUDA, with_stack=True))
    decorated()
    trace = kg.disable_profiler().trace
    calls = [event.name for event in trace.events if event.category == "python_function"]
    return {**summary(trace), "calls": calls}


def beside_a_session_that_records_the_gpu() -> dict[str, Any]:
    cuda = WorkingCuda().initialise()
    with kg.profile(activities=["cpu", "cuda"]) as p, events_session() as traces, kg.scope("step"):
        cuda.launch()
        cuda.work()
    return {"cupti": summary(p.trace), "events": summary(traces[0])}


def forks_in_a_timed_scope() -> dict[str, Any]:
    from kinetograph.session import observer

    cuda = WorkingCuda().initialise()
    with events_session() as traces, kg.scope("parent"):
        cuda.work()
        child = os.fork()
        if child == 0:
            with kg.profile(activities=["cpu"]) as inner, kg.scope("child"):
                pass
            is_clean = [event.name for event in inner.events()] == ["child"] and not observer._alive
            os._exit(0 if is_clean else 1)
        status = os.waitpid(child, 0)[1]
    return {**summary(traces[0]), "child": status}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))

"""Scopes timed by CUDA events for real, beside what CUPTI and torch's own events tell of the same work."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.on_device import BOTH, notes

import kinetograph as kg


@contextmanager
def timed_session(state: kg.ProfilerState = kg.ProfilerState.CUDA) -> Iterator[list[kg.Trace]]:
    traces: list[kg.Trace] = []
    kg.enable_profiler(kg.ProfilerConfig(state=state), all_threads=True)
    try:
        yield traces
    finally:
        traces.append(kg.disable_profiler().trace)


def timed(trace: kg.Trace) -> list[kg.Event]:
    return [event for event in trace.events if event.category == "gpu_user_annotation"]


def busy(torch: Any, milliseconds: float) -> None:
    """Of the GPU's time, at least, whatever its clock: one that measures itself."""
    torch.cuda._sleep(int(milliseconds * 2_500_000))


@pytest.mark.parametrize("state", [kg.ProfilerState.CUDA, kg.ProfilerState.KINETO_GPU_FALLBACK])
def test_a_scope_takes_what_torchs_events_measure(torch: Any, state: kg.ProfilerState) -> None:
    with timed_session(state) as traces:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with kg.scope("step"):
            begin.record()
            busy(torch, 20)
            end.record()
    (step,) = timed(traces[0])
    measured_ns = begin.elapsed_time(end) * 1e6
    print(f"ours {step.duration_ns / 1e3:.1f} us, torch's {measured_ns / 1e3:.1f} us")
    print(notes(traces[0]))
    assert measured_ns - 2_000 <= step.duration_ns < measured_ns + 1_000_000
    assert step.linked is not None
    assert step.linked.name == "step"
    # The event is recorded before the scope begins, and some microseconds are ours.
    assert step.linked.start_ns < step.start_ns + 1_000_000
    assert step.linked.device_time_total_ns == step.duration_ns
    assert not {"kernel", "cuda_runtime"} & {event.category for event in traces[0].events}


def test_it_lies_where_cupti_says_that_the_kernel_ran(torch: Any) -> None:
    """Two sessions over the same work: one through CUPTI, one by events."""
    with kg.profile(activities=BOTH) as p, timed_session() as traces, kg.scope("step"):
        busy(torch, 20)
    (kernel,) = (event for event in p.trace.events if event.category == "kernel")
    (step,) = timed(traces[0])
    ahead_us = (kernel.start_ns - step.start_ns) / 1e3
    behind_us = (step.start_ns + step.duration_ns - kernel.start_ns - kernel.duration_ns) / 1e3
    print(f"begins {ahead_us:.1f} us before the kernel, ends {behind_us:.1f} us after it")
    print("streams:", step.thread_id, kernel.args["stream"])
    print(notes(traces[0]))
    assert abs(behind_us) < 1_000
    assert -100 < ahead_us < 50_000


def test_self_time_is_less_the_scopes_within(torch: Any) -> None:
    with timed_session() as traces, kg.scope("outer"):
        busy(torch, 5)
        with kg.scope("inner"):
            busy(torch, 10)
    rows = {row.key: row for row in traces[0].key_averages().of_categories("user_annotation")}
    outer, inner = rows["outer"], rows["inner"]
    assert outer.device_time_total > inner.device_time_total > 5_000
    assert outer.self_device_time_total == pytest.approx(outer.device_time_total - inner.device_time_total)
    print(traces[0].key_averages().table())


def test_a_long_session_stays_on_time(torch: Any) -> None:
    """Some seconds: anchors are renewed, and the host's and the device's order agree."""
    deadline = time.monotonic() + 3
    with timed_session() as traces:
        while time.monotonic() < deadline:
            with kg.scope("step"):
                busy(torch, 0.1)
                torch.cuda.synchronize()
    found = timed(traces[0])
    print(len(found), notes(traces[0]))
    late = sorted(e.end_ns - e.linked.end_ns for e in found if e.linked)
    print(f"the last to end on the device did so {late[-1] / 1e3:.1f} us after the host had waited for it")
    assert len(late) == len(found)
    # But for a few: a thread may be interrupted between the end of its scope and the event that times it.
    assert late[-len(late) // 100 - 1] < 1_000_000


def test_streams_and_threads(torch: Any) -> None:
    def work(name: str) -> None:
        with kg.scope(name):  # before this thread has used CUDA
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream), kg.scope(f"{name} on its stream"):
                torch.zeros(64, device="cuda").add_(1)

    with timed_session() as traces:
        threads = [threading.Thread(target=work, args=(f"thread {i}",)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = {event.name: event for event in timed(traces[0])}
    print({name: event.thread_id for name, event in found.items()}, notes(traces[0]))
    assert len(found) == 8
    assert len({event.thread_id for name, event in found.items() if name.endswith("stream")}) == 4


def test_a_capture_is_not_broken_and_counted(torch: Any) -> None:
    x = torch.zeros(64, device="cuda")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with timed_session() as traces:
        with torch.cuda.graph(graph):
            with kg.scope("captured"):
                x.add_(1)
            time.sleep(0.3)  # lets the harvest pass during the capture
            x.add_(1)
        with kg.scope("replay"):
            graph.replay()
    torch.cuda.synchronize()
    assert float(x[0]) == 2
    assert [event.name for event in timed(traces[0])] == ["replay"]
    assert "1 scope not timed by CUDA events: their stream was being captured" in notes(traces[0])


def test_a_session_that_ends_in_a_capture_does_not_break_it(torch: Any) -> None:
    x = torch.zeros(64, device="cuda")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with timed_session() as traces:
        with kg.scope("before"):
            x.add_(1)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            x.add_(1)
            with timed_session():
                x.add_(1)
            x.add_(1)
    graph.replay()
    torch.cuda.synchronize()
    assert float(x[0]) == 4
    assert [event.name for event in timed(traces[0])] == ["before"]


def test_under_torchs_profiler_scopes_are_timed(torch: Any) -> None:
    for _ in range(2):  # after the first, torch records without being known to CUPTI
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as theirs:
            with kg.profile(activities=BOTH) as p, kg.scope("inside"):
                busy(torch, 10)
            torch.cuda.synchronize()
        print(notes(p.trace))
        assert "another tool" in notes(p.trace)
        (inside,) = timed(p.trace)
        # Torch's second profile may be empty by itself, once it has torn CUPTI down.
        for kernel in (e for e in theirs.events() if "spin" in e.name):
            print(f"ours {inside.duration_ns / 1e3:.1f} us, torch's kernel {kernel.device_time_total:.1f} us")
            assert inside.duration_ns / 1e3 == pytest.approx(kernel.device_time_total, rel=0.1)
    torch.zeros(64, device="cuda").add_(1)
    torch.cuda.synchronize()


def test_many_scopes_in_a_row(torch: Any) -> None:
    x = torch.zeros(64, device="cuda")
    with timed_session() as traces:
        begin = time.perf_counter()
        for _ in range(20_000):
            with kg.scope("op"):
                x.add_(1)
        torch.cuda.synchronize()
        seconds = time.perf_counter() - begin
    print(f"{seconds / 20_000 * 1e6:.2f} us per op; {notes(traces[0])}")
    assert len(timed(traces[0])) == 20_000


PROGRAM = """
import ctypes, torch, kinetograph as kg
x = torch.zeros(64, device="cuda")
kg.enable_profiler(kg.ProfilerConfig(state=kg.ProfilerState.CUDA))
with kg.scope("before"):
    x.add_(1)
torch.cuda.synchronize()
with kg.scope("while the context goes"):
    ctypes.CDLL("libcuda.so.1").cuDevicePrimaryCtxReset_v2(0)
with kg.scope("after"):
    pass
trace = kg.disable_profiler().trace
print([event.name for event in trace.events if event.category == "user_annotation"])
print([note.text for note in trace.notes])
import os, sys
sys.stdout.flush()
os._exit(0)  # torch cannot end in order without its context
"""


def test_a_context_that_is_destroyed_crashes_nothing(torch: Any) -> None:
    del torch
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False
    )
    print(done.stdout, done.stderr)
    assert done.returncode == 0
    assert "['before', 'while the context goes', 'after']" in done.stdout


def test_cupys_stream_is_used(torch: Any) -> None:
    del torch
    pytest.importorskip("cupy")
    program = (
        "import cupy, kinetograph as kg\n"
        "x = cupy.zeros(1 << 20)\n"
        "stream = cupy.cuda.Stream(non_blocking=True)\n"
        "kg.enable_profiler(kg.ProfilerConfig(state=kg.ProfilerState.CUDA))\n"
        "with stream, kg.scope('cupy'):\n"
        "    for _ in range(100): x += 1\n"
        "trace = kg.disable_profiler().trace\n"
        "found = [e for e in trace.events if e.category == 'gpu_user_annotation']\n"
        "print(found[0].name, found[0].thread_id, found[0].duration_ns)\n"
        "assert len(found) == 1 and found[0].duration_ns > 100_000\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=dict(os.environ),
    )
    print(done.stdout, done.stderr)
    assert done.returncode == 0


UNDER_NSIGHT = """
import sys, time
import kinetograph as kg
import torch
if sys.argv[1] == "after CUDA":
    torch.zeros(64, device="cuda")
with kg.profile(activities=["cpu", "cuda"]) as p:
    x = torch.zeros(64, device="cuda")
    deadline = time.monotonic() + 30
    while not kg._native.scope_timer_is_ready() and time.monotonic() < deadline:
        time.sleep(0.001)
    with kg.scope("step"):
        torch.cuda._sleep(20_000_000)
(step,) = (e for e in p.trace.events if e.category == "gpu_user_annotation")
assert step.name == "step" and step.duration_ns > 5_000_000, step
assert any("another tool" in note.text for note in p.trace.notes)
print("timed", step.duration_ns)
"""


@pytest.mark.parametrize("when", ["before CUDA", "after CUDA"])
def test_under_nsight_scopes_are_timed(torch: Any, when: str) -> None:
    """Nsight Compute, which attaches when the program initialises CUDA."""
    del torch
    ncu = shutil.which("ncu")
    if ncu is None:
        pytest.skip("no ncu")
    command = [ncu, "--kernel-name", "regex:no_such_kernel", sys.executable, "-c", UNDER_NSIGHT, when]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    print(done.stdout, done.stderr)
    assert done.returncode == 0
    assert "timed" in done.stdout

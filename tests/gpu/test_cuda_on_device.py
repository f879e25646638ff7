"""CUDA for real: what CUPTI tells us on a GPU, beside what torch.profiler sees of the same program."""

from __future__ import annotations

import collections
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.on_device import BOTH, captured_graph, kernels, notes

import kinetograph as kg
from kinetograph import _native


def on_host(trace: kg.Trace, name: str) -> int:
    """How often the scope is there; where CUPTI was another's it is on the GPU as well."""
    return sum(event.name == name and event.category == "user_annotation" for event in trace.events)


def step(torch: Any, x: Any, w: Any) -> None:
    y = torch.relu(x @ w)
    y.sum().backward()


def test_the_same_kernels_as_torchs_profiler(torch: Any) -> None:
    x = torch.randn(256, 256, device="cuda")
    w = torch.randn(256, 256, device="cuda", requires_grad=True)
    for _ in range(3):
        step(torch, x, w)
    torch.cuda.synchronize()
    with kg.profile(activities=BOTH) as ours:
        for _ in range(10):
            step(torch, x, w)
    torch.add(x, x)  # lets go of CUPTI
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as theirs:
        for _ in range(10):
            step(torch, x, w)
        torch.cuda.synchronize()
    seen = collections.Counter(event.name for event in kernels(ours.trace))
    expected = collections.Counter(
        event.name
        for event in theirs.events()
        if event.device_type == torch.autograd.DeviceType.CUDA
        and not event.name.startswith(("Mem", "ProfilerStep"))
    )
    assert seen == expected


@pytest.mark.parametrize("launches_between", [1, 0])
def test_torchs_profiler_right_behind_a_session_is_whole(torch: Any, launches_between: int) -> None:
    x = torch.zeros(64, device="cuda")
    with kg.profile(activities=BOTH):
        x.add_(1)
    for _ in range(launches_between):
        x.add_(1)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as theirs:
        for _ in range(10):
            x.add_(1)
        torch.cuda.synchronize()
    assert sum("elementwise" in event.name for event in theirs.events()) == 10


def test_every_kernel_has_a_launch_and_begins_after_it(torch: Any) -> None:
    x = torch.randn(64, device="cuda")
    with kg.profile(activities=BOTH, frameworks=()) as p, kg.scope("loop"):
        for _ in range(1000):
            x.add_(1)
    launches = {
        event.correlation_id: event
        for event in p.trace.events
        if event.category in ("cuda_runtime", "cuda_driver")
    }
    found = kernels(p.trace)
    assert len(found) == 1000
    for kernel in found:
        launch = launches[kernel.correlation_id]
        # CUPTI fits the clock of the GPU to ours; what is left of the error is far below this.
        assert kernel.start_ns > launch.start_ns - 20_000
        assert kernel.linked is not None
        assert kernel.linked.name == "loop"
    assert "took CUPTI over" not in notes(p.trace)


def test_every_kernel_of_a_training_step_is_tied_to_its_scope(torch: Any) -> None:
    x = torch.randn(64, 64, device="cuda")
    w = torch.randn(64, 64, device="cuda", requires_grad=True)
    step(torch, x, w)
    torch.cuda.synchronize()
    # Or backward launches from a thread of its own, in which the program opens no scope.
    with torch.autograd.set_multithreading_enabled(False), kg.profile(activities=BOTH, frameworks=()) as p:
        for _ in range(10):
            with kg.scope("step"):
                step(torch, x, w)
    found = kernels(p.trace)
    assert len(found) >= 40
    assert {kernel.linked.name for kernel in found if kernel.linked} == {"step"}
    assert all(kernel.linked is not None for kernel in found)
    averages = {
        average.key: average for average in p.key_averages() if average.device_type is kg.DeviceType.CPU
    }
    total = sum(kernel.duration_ns for kernel in found)
    assert averages["step"].device_time_total == pytest.approx(total / 1e3, rel=1e-3)


def test_a_million_kernels_are_all_there(torch: Any) -> None:
    x = torch.randn(64, device="cuda")
    with kg.profile(activities=["cuda"]) as p:
        for _ in range(1_000_000):
            x.add_(1)
    categories = p.trace.columns["category"]
    kernel = p.trace.categories.index("kernel")
    assert int((categories == kernel).sum()) == 1_000_000
    assert "dropped" not in notes(p.trace)


def test_kernels_of_streams_and_threads_stay_apart(torch: Any) -> None:
    def work(name: str) -> None:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream), kg.scope(name):
            y = torch.zeros(64, device="cuda")
            for _ in range(100):
                y.add_(1)

    with kg.profile(activities=BOTH, frameworks=()) as p:
        threads = [threading.Thread(target=work, args=(f"thread {i}",)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    by_scope: dict[str, set[Any]] = {}
    for kernel in kernels(p.trace):
        if kernel.linked is not None and "elementwise" in kernel.name:
            by_scope.setdefault(kernel.linked.name, set()).add(kernel.args["stream"])
    assert len(by_scope) == 4


@pytest.mark.parametrize("when", ["before", "within"])
def test_graphs_are_tied_to_their_launch(torch: Any, when: str) -> None:
    x = torch.randn(64, device="cuda")
    x.add_(1)
    torch.cuda.synchronize()

    graph = captured_graph(torch, x) if when == "before" else None
    with kg.profile(activities=BOTH) as p:
        graph = graph or captured_graph(torch, x)
        with kg.scope("replay"):
            graph.replay()
        torch.cuda.synchronize()
    replayed = [k for k in kernels(p.trace) if k.linked is not None and k.linked.name == "replay"]
    assert len(replayed) == 5
    assert all(kernel.args["graph node id"] for kernel in replayed)


def test_the_end_of_a_session_does_not_break_a_capture(torch: Any) -> None:
    x = torch.zeros(64, device="cuda")
    x.add_(1)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.add_(1)
        with kg.profile(activities=BOTH):
            x.add_(1)
        x.add_(1)
    before = float(x[0])
    graph.replay()
    torch.cuda.synchronize()
    assert float(x[0]) == before + 3


def test_sessions_of_another_thread_that_end_within_a_capture_do_not_break_it(torch: Any) -> None:
    x = torch.zeros(64, device="cuda")
    x.add_(1)
    torch.cuda.synchronize()
    before_it = kg.profile(activities=BOTH)
    before_it.start()

    def end_sessions() -> None:
        before_it.stop()
        with kg.profile(activities=BOTH):
            pass

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.add_(1)
        thread = threading.Thread(target=end_sessions)
        thread.start()
        thread.join()
        x.add_(1)
    before = float(x[0])
    graph.replay()
    torch.cuda.synchronize()
    assert float(x[0]) == before + 2


def under_torch(torch: Any) -> int:
    """How many events torch's profiler sees of one kernel."""
    x = torch.randn(64, device="cuda")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        x.add_(1)
        torch.cuda.synchronize()
    return len(profiler.events())


def test_torchs_profiler_works_before_within_and_after(torch: Any) -> None:
    x = torch.randn(64, device="cuda")
    assert under_torch(torch) > 0
    x.add_(1)
    torch.cuda.synchronize()
    with kg.profile(activities=BOTH) as p, kg.scope("around"):
        x.add_(1)
        torch.cuda.synchronize()
        under_torch(torch)
        x.add_(1)
    assert on_host(p.trace, "around") == 1
    x.add_(1)
    torch.cuda.synchronize()
    with kg.profile(activities=BOTH) as again:
        x.add_(1)
    assert kernels(again.trace) or "another tool" in notes(again.trace)
    x.add_(1)
    torch.cuda.synchronize()
    under_torch(torch)  # after it was refused, torch's next profile is empty
    assert under_torch(torch) > 0


def test_under_torchs_profiler_we_stand_back(torch: Any) -> None:
    x = torch.randn(64, device="cuda")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as theirs:
        x.add_(1)
        with kg.profile(activities=BOTH) as p, kg.scope("inside"):
            x.add_(1)
        torch.cuda.synchronize()
    assert "another tool" in notes(p.trace)
    assert on_host(p.trace, "inside") == 1
    assert len(theirs.events()) > 0


def test_sessions_one_after_the_other(torch: Any) -> None:
    x = torch.randn(64, device="cuda")
    for _ in range(5):
        with kg.profile(activities=["cuda"]) as p:
            x.add_(1)
        assert len(kernels(p.trace)) == 1
        x.add_(1)


def test_kernels_of_a_thread_that_goes_on_at_either_end_have_launches(torch: Any) -> None:
    x, is_over = torch.zeros(64, device="cuda"), threading.Event()

    def work() -> None:
        while not is_over.is_set():
            for _ in range(10):
                x.add_(1)
            torch.cuda.synchronize()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(3):
            with kg.profile(activities=["cuda"]) as p:
                is_over.wait(0.05)
            launched = {event.correlation_id for event in p.trace.events if event.category == "cuda_runtime"}
            found = kernels(p.trace)
            assert len(found) > 100
            # At either end one may be seen whose launch was under way then.
            assert sum(kernel.correlation_id not in launched for kernel in found) <= 2
            assert "took CUPTI over" not in notes(p.trace)
    finally:
        is_over.set()
        thread.join()


def test_copies_and_waiting(torch: Any) -> None:
    host = torch.randn(1 << 20).pin_memory()
    asks = kg.ExperimentalConfig(enable_cuda_sync_events=True)
    with kg.profile(activities=BOTH, experimental_config=asks) as p:
        device = host.to("cuda", non_blocking=True)
        torch.cuda.current_stream().synchronize()
        device.zero_()
        device.cpu()
    categories = {event.category for event in p.trace.events}
    assert {"gpu_memcpy", "cuda_runtime", "cuda_sync"} <= categories
    copy = next(event for event in p.trace.events if event.name == "Memcpy HtoD (Pinned -> Device)")
    assert copy.args["bytes"] == 4 << 20


def test_the_trace_names_the_device(torch: Any, tmp_path: Path) -> None:
    with kg.profile(activities=BOTH) as p:
        torch.zeros(64, device="cuda")
    assert p.trace.device_properties[0]["name"] == torch.cuda.get_device_name(0)
    assert p.trace.metadata["cupti_version"] == _native.cuda_status()[3]
    p.export_chrome_trace(str(tmp_path / "trace.json"))
    assert len(kg.load(tmp_path / "trace.json")) == len(p.trace)


def test_a_forked_child_records_its_own(torch: Any) -> None:
    x = torch.randn(64, device="cuda")
    with kg.profile(activities=BOTH) as p:
        x.add_(1)
        child = os.fork()
        if child == 0:
            with kg.profile(activities=["cpu"]) as inner, kg.scope("child"):
                pass
            os._exit(0 if any(event.name == "child" for event in inner.trace.events) else 1)
        assert os.waitpid(child, 0)[1] == 0
        x.add_(1)
    assert len(kernels(p.trace)) == 2

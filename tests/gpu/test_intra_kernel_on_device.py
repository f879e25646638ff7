"""Records from inside kernels in the trace of a session: under their launch, in the host's time."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from tests.on_device import BOTH, kernels, notes

import kinetograph as kg
from kinetograph.analysis.task_times import task_times

pytest.importorskip("triton")

from intra_kernels import copy_kernel, overlapping_kernel
from tests.unit.intra_kernel.kernels import matmul

from kinetograph.intra_kernel.calibration import calibrations
from kinetograph.intra_kernel.triton import (
    ProfilerBuffer,
    alloc_profiler_buffer,
    load_profiler_buffer,
)

NAMES = ["load", "store"]
BLOCKS = 16
SIZE = 1024
LONG = bool(os.environ.get("KINETOGRAPH_A_MINUTE"))


class Copies:
    """The copy kernel on sixteen blocks, compiled and ready."""

    def __init__(self, torch: Any, launches: int = 1) -> None:
        self.source = torch.arange(BLOCKS * SIZE, dtype=torch.float32, device="cuda")
        self.target = torch.zeros_like(self.source)
        self.buffer = alloc_profiler_buffer(BLOCKS * (launches + 2) * 29, 32, task_names=NAMES)
        for records in (True, False):
            self.launch(records)
        torch.cuda.synchronize()

    def launch(self, records: bool = True) -> None:
        copy_kernel[(BLOCKS,)](
            self.buffer, self.source, self.target, BLOCKS * SIZE, SIZE=SIZE, RECORDS=records
        )


def inside(trace: kg.Trace) -> list[kg.Event]:
    return [event for event in trace.events if event.category == "intra_kernel"]


def clock(trace: kg.Trace) -> dict[str, Any]:
    [found] = trace.metadata["intra_kernel_clock"]
    print(found)
    assert isinstance(found, dict)
    return found


def check_attribution(trace: kg.Trace, launches: int, records: int) -> None:
    """Each launch has all its records, within its kernel but for the stated error."""
    error_ns = clock(trace)["error_ns"]
    found = {event.args["launch"]: event for event in kernels(trace) if "launch" in event.args}
    assert len(found) == launches, notes(trace)
    counts = Counter(event.args["launch"] for event in inside(trace))
    assert counts == dict.fromkeys(found, records)
    early = max(found[event.args["launch"]].start_ns - event.start_ns for event in inside(trace))
    late = max(event.end_ns - found[event.args["launch"]].end_ns for event in inside(trace))
    print(f"stated error {error_ns} ns; earliest record {early} ns before its kernel, latest {late} ns after")
    assert max(early, late) <= error_ns
    assert error_ns < 1_000


def test_copies_are_found_in_a_session(torch: Any, tmp_path: Path) -> None:
    copies = Copies(torch, 10)
    with kg.profile(activities=BOTH) as p:
        for _ in range(10):
            copies.launch()
    assert torch.equal(copies.source, copies.target)
    check_attribution(p.trace, 10, BLOCKS * 2)
    assert {event.name for event in inside(p.trace)} == set(NAMES)
    assert clock(p.trace)["source"] == "kernels"
    for name in ("trace.json", "trace.pftrace"):
        p.trace.save(tmp_path / name)
        check_attribution(kg.load(tmp_path / name), 10, BLOCKS * 2)


def test_a_pipelined_product_is_the_same_with_and_without_records(torch: Any) -> None:
    m = n = k = 1024
    a = torch.randn(m, k, device="cuda", dtype=torch.float16)
    b = torch.randn(k, n, device="cuda", dtype=torch.float16)
    plain, recorded = (torch.empty(m, n, device="cuda", dtype=torch.float16) for _ in range(2))
    buffer = alloc_profiler_buffer(200_000, 128, task_names=["load", "dot", "store"])
    shape: dict[str, Any] = {"ROWS": 128, "COLUMNS": 128, "DEPTH": 64, "num_warps": 8, "num_stages": 3}
    grid = (m // 128, n // 128)
    matmul[grid](buffer, a, b, plain, n, k, RECORDS=0, **shape)
    matmul[grid](buffer, a, b, recorded, n, k, RECORDS=4, **shape)
    torch.cuda.synchronize()
    assert torch.equal(plain, recorded)
    with kg.profile(activities=BOTH) as p:
        for _ in range(5):
            matmul[grid](buffer, a, b, recorded, n, k, RECORDS=4, **shape)
    assert torch.equal(plain, recorded)
    check_attribution(p.trace, 5, 64 * (16 * 2 + 1))
    tasks = {row.task: row for row in task_times(p.trace)}
    assert set(tasks) == {"load", "dot", "store"}
    assert all("matmul" in row.kernel for row in tasks.values())
    assert 0.2 < sum(row.share for row in tasks.values()) < 1.01
    for row in tasks.values():
        print(row)


def test_a_thousand_launches_are_all_attributed_and_nothing_waits(torch: Any) -> None:
    copies = Copies(torch, 1000)
    with kg.profile(activities=BOTH, experimental_config=_with_syncs()) as p:
        for _ in range(1000):
            copies.launch()
    check_attribution(p.trace, 1000, BLOCKS * 2)
    launches = [event for event in p.trace.events if event.name.startswith("cuLaunchKernel")]
    launched = {event.correlation_id for event in launches}
    assert {event.correlation_id for event in kernels(p.trace) if "launch" in event.args} <= launched
    # The session itself waits when it stops, behind the last launch.
    last_ns = max(event.start_ns for event in launches)
    calls = [
        event for event in p.trace.events if event.category in ("cuda_runtime", "cuda_driver", "cuda_sync")
    ]
    between = {event.name for event in calls if event.start_ns < last_ns}
    assert not [name for name in between if "Sync" in name or "Memcpy" in name]
    assert not [event for event in p.trace.events if event.category == "gpu_memcpy"]


def test_kernels_that_begin_before_the_one_before_has_ended_keep_their_records(torch: Any) -> None:
    target = torch.zeros(1, device="cuda")
    buffer = alloc_profiler_buffer(10_000, task_names=["spin"])
    overlapping_kernel[(1,)](buffer, target, 20_000, launch_pdl=True)
    torch.cuda.synchronize()
    with kg.profile(activities=BOTH) as p:
        for _ in range(20):
            overlapping_kernel[(1,)](buffer, target, 20_000, launch_pdl=True)
    found = kernels(p.trace)
    assert any(after.start_ns < before.end_ns for before, after in itertools.pairwise(found))
    check_attribution(p.trace, 20, 1)


def test_a_session_that_ends_while_another_thread_captures_a_graph_does_not_break_it(torch: Any) -> None:
    copies = Copies(torch)
    graph, x = torch.cuda.CUDAGraph(), torch.zeros(8, device="cuda")
    has_begun, has_stopped = threading.Event(), threading.Event()
    torch.cuda.synchronize()

    def capture() -> None:
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            x.add_(1)
            has_begun.set()
            has_stopped.wait(60)
            x.add_(1)

    capturing = threading.Thread(target=capture)
    with kg.profile(activities=BOTH) as p:
        copies.launch()
        torch.cuda.synchronize()
        capturing.start()
        assert has_begun.wait(60)
    has_stopped.set()
    capturing.join()
    graph.replay()
    assert x[0].item() == 2
    assert "a CUDA graph is being captured" in notes(p.trace)


def _with_syncs() -> kg.ExperimentalConfig:
    return kg.ExperimentalConfig(enable_cuda_sync_events=True)


def test_every_replay_of_a_graph_is_a_launch_of_its_own(torch: Any) -> None:
    copies = Copies(torch, 60)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        copies.launch()
        copies.launch()
    with kg.profile(activities=BOTH) as p:
        for _ in range(20):
            graph.replay()
    check_attribution(p.trace, 40, BLOCKS * 2)


def test_launches_of_two_streams_are_all_there(torch: Any) -> None:
    copies = Copies(torch, 40)
    streams = [torch.cuda.Stream() for _ in range(2)]
    with kg.profile(activities=BOTH) as p:
        for _ in range(20):
            for stream in streams:
                with torch.cuda.stream(stream):
                    copies.launch()
    counts = Counter(event.args["launch"] for event in inside(p.trace))
    assert sum(counts.values()) == 40 * BLOCKS * 2, notes(p.trace)


def test_a_buffer_that_is_exported_within_the_session_is_in_both_files(torch: Any, tmp_path: Path) -> None:
    copies = Copies(torch)
    wrapped = ProfilerBuffer(10_000, tmp_path / "copy", NAMES)
    with kg.profile(activities=BOTH) as p:
        for _ in range(3):
            with wrapped as copies.buffer:
                copies.launch()
                copies.launch()
    check_attribution(p.trace, 6, BLOCKS * 2)
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {f"copy{part}.perfetto-trace" for part in ("", ".1", ".2")}


def test_the_clock_holds_for_as_long_as_the_session(torch: Any) -> None:
    launches, seconds = (1000, 60) if LONG else (100, 3)
    copies = Copies(torch, launches)
    begin = time.monotonic()
    with kg.profile(activities=BOTH) as p:
        for number in range(launches):
            while time.monotonic() < begin + number * seconds / launches:
                time.sleep(0.0005)
            copies.launch()
    check_attribution(p.trace, launches, BLOCKS * 2)


def test_calibrations_agree_with_the_kernels(torch: Any) -> None:
    copies = Copies(torch, 20)
    copies.launch()  # so that the session is short
    wall_ns = time.time_ns() - time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    with kg.profile(activities=BOTH) as p:
        for _ in range(20):
            copies.launch()
    found = calibrations(0)[-1]
    by_kernels = clock(p.trace)
    apart_ns = found.offset_ns + wall_ns - by_kernels["offset_ns"]
    print(f"calibration within {found.error_ns} ns, {apart_ns} ns from what the kernels say")
    assert found.error_ns < 20_000
    drift_ns = (p.trace.end_ns - p.trace.start_ns) // 10_000 + 10_000
    assert abs(apart_ns) <= found.error_ns + by_kernels["error_ns"] + drift_ns


def test_without_kernels_in_the_trace_calibrations_give_the_time(torch: Any) -> None:
    copies = Copies(torch, 5)
    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
    with profiler, kg.profile(activities=BOTH) as p:  # the first has CUPTI, and we do without
        for _ in range(5):
            copies.launch()
        torch.cuda.synchronize()
    assert not kernels(p.trace)
    assert clock(p.trace)["source"] == "calibration"
    assert len(inside(p.trace)) == 5 * BLOCKS * 2
    error_ns = clock(p.trace)["error_ns"]
    assert error_ns < 30_000  # one was taken when the buffer was made, one at the end
    assert all(
        p.trace.start_ns - error_ns <= event.start_ns <= p.trace.end_ns + error_ns
        for event in inside(p.trace)
    )


def test_records_cost_the_host_next_to_nothing_per_launch(torch: Any) -> None:
    """Not a benchmark: a synchronisation or a copy per launch would be far beyond this."""
    copies = Copies(torch, 5_000)
    with kg.profile(activities=BOTH):
        rounds = [(_cost_us(torch, copies, False), _cost_us(torch, copies, True)) for _ in range(9)]
    without, recorded = (median(costs) for costs in zip(*rounds, strict=True))
    print(f"a launch takes the host {without:.2f} us, with records {recorded:.2f} us")
    assert recorded - without < 5


def _cost_us(torch: Any, copies: Copies, records: bool) -> float:
    begin = time.perf_counter()
    for _ in range(500):
        copies.launch(records)
    cost = (time.perf_counter() - begin) / 500 * 1e6
    torch.cuda.synchronize()
    return cost


def test_a_program_that_is_run_has_its_records_in_its_trace(torch: Any, tmp_path: Path) -> None:
    here = Path(__file__).parent
    program = [str(here / "programs" / "copies_inside.py"), str(here)]
    run = [sys.executable, "-m", "kinetograph", "run", "--cuda", "-q", "-o", str(tmp_path / "trace.json")]
    subprocess.run([*run, *program], check=True, timeout=300)
    check_attribution(kg.load(tmp_path / "trace.json"), 3, BLOCKS * 2)


def test_what_is_read_by_hand_is_still_there(torch: Any) -> None:
    copies = Copies(torch, 2)
    with kg.profile(activities=BOTH):
        copies.launch()
    # The one that compiled it, and this one.
    assert len(load_profiler_buffer(copies.buffer, NAMES)) == 2 * BLOCKS * 2

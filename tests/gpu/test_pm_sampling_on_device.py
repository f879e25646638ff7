"""Hardware counters on a time grid for real: what they say of a GPU that works, and of one that does not."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.on_device import kernels, notes, torch_where_granted

import kinetograph as kg

ACTIVE = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"
MEMORY = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
BUSY = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
INTERVAL_NS = 100_000

# {end} is how the program ends, with the session and its sampling still open.
ENDS_WHILE_SAMPLED = """
import os, sys, time
import torch
import kinetograph as kg
matrix = torch.ones(2048, 2048, device="cuda")
kg.profile(
    activities=["cpu", "cuda"],
    experimental_config=kg.ExperimentalConfig(pm_sampling_metrics=[{metric!r}]),
    recording=kg.RecordOptions(path="trace.json"),
).start()
end = time.monotonic() + 0.3
while time.monotonic() < end:
    torch.mm(matrix, matrix)
{end}
"""


def options(*metrics: str, interval_ns: int = INTERVAL_NS) -> dict[str, Any]:
    wanted = kg.ExperimentalConfig(pm_sampling_metrics=metrics, pm_sampling_interval_ns=interval_ns)
    return {"activities": ["cpu", "cuda"], "experimental_config": wanted}


def counters(trace: kg.Trace, metric: str) -> list[kg.Event]:
    return [e for e in trace.events if e.category == "hardware_counters" and e.name == metric]


def between(trace: kg.Trace, metric: str, start_ns: int, end_ns: int) -> list[float]:
    """Values of the samples that lie within, whole ones only."""
    return [
        event.args["value"]
        for event, after in pairwise(counters(trace, metric))
        if start_ns <= event.start_ns and after.start_ns <= end_ns
    ]


@pytest.fixture(scope="module")
def torch() -> Any:
    return torch_where_granted(**options(ACTIVE))


@pytest.fixture(scope="module")
def matrix(torch: Any) -> Any:
    made = torch.ones(4096, 4096, device="cuda")
    torch.mm(made, made)
    torch.cuda.synchronize()
    return made


def work(torch: Any, matrix: Any, seconds: float) -> None:
    """Keeps the GPU busy for about so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(10):
            torch.mm(matrix, matrix)
        torch.cuda.synchronize()


def idle_busy_idle(
    torch: Any, matrix: Any, metrics: tuple[str, ...], interval_ns: int = INTERVAL_NS
) -> kg.Trace:
    with kg.profile(**options(*metrics, interval_ns=interval_ns)) as p:
        with kg.scope("idle before"):
            time.sleep(0.2)
        with kg.scope("busy"):
            work(torch, matrix, 0.3)
        with kg.scope("idle after"):
            time.sleep(0.2)
    return p.trace


def scope(trace: kg.Trace, name: str) -> kg.Event:
    return next(e for e in trace.events if e.name == name and e.category == "user_annotation")


@pytest.fixture(scope="module")
def trace(torch: Any, matrix: Any) -> kg.Trace:
    return idle_busy_idle(torch, matrix, (ACTIVE, MEMORY))


def test_a_gpu_that_works_is_told_from_one_that_waits(
    trace: kg.Trace, capsys: pytest.CaptureFixture[str]
) -> None:
    medians = {}
    for name in ("idle before", "busy", "idle after"):
        span = scope(trace, name)
        found = between(trace, ACTIVE, span.start_ns, span.end_ns)
        assert len(found) > 500, (name, len(found), notes(trace))
        medians[name] = statistics.median(found)
    with capsys.disabled():
        print(f"\nSM activity in percent, median of samples: {medians}\n{notes(trace)}")
    assert medians["busy"] > 50
    assert medians["idle before"] < 5
    assert medians["idle after"] < 5


def test_counters_follow_the_kernels_in_time(trace: kg.Trace) -> None:
    """They are on one clock: the first kernel of the loop is where the SMs become active."""
    busy = scope(trace, "busy")
    first = min(event.start_ns for event in kernels(trace) if event.start_ns >= busy.start_ns)
    last = max(event.end_ns for event in kernels(trace))
    active = [e.start_ns for e in counters(trace, ACTIVE) if e.args["value"] > 20]
    assert abs(active[0] - first) < 5 * INTERVAL_NS, (active[0] - first) / 1e3
    assert abs(active[-1] - last) < 5 * INTERVAL_NS, (active[-1] - last) / 1e3


def test_samples_lie_within_the_session_and_as_far_apart_as_asked(
    trace: kg.Trace, capsys: pytest.CaptureFixture[str]
) -> None:
    starts = [event.start_ns for event in counters(trace, ACTIVE)]
    first, last = scope(trace, "idle before"), scope(trace, "idle after")
    gaps = [after - before for before, after in pairwise(starts)]
    with capsys.disabled():
        print(
            f"\n{len(starts)} samples; apart: median {statistics.median(gaps)} ns, "
            f"least {min(gaps)}, most {max(gaps)}; the first {(starts[0] - first.start_ns) / 1e3:.0f} us "
            f"after the scopes began, the last {(starts[-1] - last.end_ns) / 1e3:.0f} us after they ended"
        )
    assert min(gaps) > 0
    assert statistics.median(gaps) == pytest.approx(INTERVAL_NS, rel=0.1)
    assert abs(starts[0] - first.start_ns) < 50_000_000
    assert abs(starts[-1] - last.end_ns) < 50_000_000
    assert "lost" not in notes(trace), notes(trace)


def test_kernels_and_calls_are_recorded_in_the_same_session(trace: kg.Trace) -> None:
    assert len(kernels(trace)) >= 10, notes(trace)
    categories = {event.category for event in trace.events}
    assert {"cuda_runtime", "user_annotation", "hardware_counters"} <= categories
    assert {event.device_index for event in counters(trace, ACTIVE)} == {0}


def test_nothing_of_our_own_reading_is_in_the_trace(trace: kg.Trace) -> None:
    threads = {event.thread_id for event in trace.events if event.category in ("cuda_runtime", "cuda_driver")}
    assert len(threads) == 1, threads
    assert not [track for track in trace.tracks if "kg-" in track.name]


def test_all_metrics_have_a_value_in_every_sample(trace: kg.Trace) -> None:
    active, memory = counters(trace, ACTIVE), counters(trace, MEMORY)
    assert [e.start_ns for e in active] == [e.start_ns for e in memory]
    assert all(-0.1 <= e.args["value"] <= 101 for e in [*active, *memory])


@pytest.mark.parametrize("interval_ns", [10_000, 1_000_000])
def test_other_intervals(
    torch: Any, matrix: Any, interval_ns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    found = idle_busy_idle(torch, matrix, (ACTIVE,), interval_ns)
    starts = [event.start_ns for event in counters(found, ACTIVE)]
    gaps = [after - before for before, after in pairwise(starts)]
    with capsys.disabled():
        print(f"\n{interval_ns} ns: {len(starts)} samples, median {statistics.median(gaps)}; {notes(found)}")
    assert statistics.median(gaps) == pytest.approx(interval_ns, rel=0.1)
    assert len(starts) > 0.8 * 700_000_000 / interval_ns or "lost" in notes(found)


def seconds_of_thread(name: str) -> float:
    """What it has spent on a processor so far."""
    for stat in Path("/proc/self/task").glob("*/stat"):
        before, _, after = stat.read_text().rpartition(")")
        if before.endswith(f"({name}"):
            return sum(map(int, after.split()[11:13])) / os.sysconf("SC_CLK_TCK")
    raise AssertionError(f"no thread is called {name}")


def megabytes() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.parametrize("interval_ns", [10_000, 100_000])
def test_what_it_costs(torch: Any, matrix: Any, interval_ns: int, capsys: pytest.CaptureFixture[str]) -> None:
    before_mb = megabytes()
    with kg.profile(**options(ACTIVE, MEMORY, interval_ns=interval_ns)) as p:
        started_mb, started = megabytes(), time.monotonic()
        work(torch, matrix, 1)
        spent, wall = seconds_of_thread("kg-pm-sampling"), time.monotonic() - started
    found = len(counters(p.trace, ACTIVE))
    with capsys.disabled():
        print(
            f"\n{interval_ns} ns: {found} samples of two metrics; reading them took {spent:.2f} s of "
            f"{wall:.2f} s, {spent / found * 1e6:.1f} us each; {started_mb - before_mb:.0f} MB to begin with"
        )
    assert found > 0


def test_more_sessions_work_with_and_without_samples(torch: Any, matrix: Any) -> None:
    for _ in range(3):
        with kg.profile(**options(ACTIVE)) as p:
            work(torch, matrix, 0.05)
        assert len(counters(p.trace, ACTIVE)) > 100, notes(p.trace)
        assert len(kernels(p.trace)) >= 10, notes(p.trace)
        with kg.profile(activities=["cpu", "cuda"]) as p:
            torch.mm(matrix, matrix)
        assert len(kernels(p.trace)) == 1, notes(p.trace)
        assert not counters(p.trace, ACTIVE)
        torch.mm(matrix, matrix)  # lets go of CUPTI
        torch.cuda.synchronize()


def test_another_session_goes_on_recording_when_the_sampling_ends(torch: Any, matrix: Any) -> None:
    with kg.profile(activities=["cpu", "cuda"]) as plain:
        with kg.profile(**options(ACTIVE)) as sampled:
            work(torch, matrix, 0.05)
            with pytest.raises(kg.StateError, match="another session samples"):
                kg.profile(**options(ACTIVE)).start()
        inside = len(kernels(sampled.trace))
        torch.mm(matrix, matrix)
    assert counters(sampled.trace, ACTIVE)
    assert not counters(plain.trace, ACTIVE)
    assert len(kernels(plain.trace)) == inside + 1, notes(plain.trace)


def test_metrics_of_kernels_come_before_and_after(torch: Any, matrix: Any) -> None:
    measured = kg.ExperimentalConfig(
        profiler_metrics=["smsp__inst_executed.sum"], profiler_measure_per_kernel=True
    )
    for _ in range(2):
        with kg.profile(activities=["cpu", "cuda"], experimental_config=measured) as p:
            torch.mm(matrix, matrix)
        assert [e for e in p.events() if e.category == "cuda_profiler_range"], notes(p.trace)
        with kg.profile(**options(ACTIVE)) as p:
            work(torch, matrix, 0.05)
        assert len(counters(p.trace, ACTIVE)) > 100, notes(p.trace)
        assert kernels(p.trace), notes(p.trace)


def test_only_recorded_steps_are_sampled(torch: Any, matrix: Any) -> None:
    traces: list[kg.Trace] = []
    with kg.profile(
        schedule=kg.schedule(wait=1, warmup=1, active=1, repeat=2),
        on_trace_ready=lambda p: traces.append(p.trace),
        **options(ACTIVE),
    ) as p:
        for _ in range(6):
            work(torch, matrix, 0.05)
            p.step()
    assert len(traces) == 2
    for found in traces:
        starts = [event.start_ns for event in counters(found, ACTIVE)]
        assert 300 < len(starts) < 3000, (len(starts), notes(found))
        assert statistics.median(e.args["value"] for e in counters(found, ACTIVE)) > 50


def test_nothing_is_sampled_in_a_pause(torch: Any, matrix: Any) -> None:
    with kg.profile(**options(ACTIVE)) as p:
        work(torch, matrix, 0.05)
        p.toggle_collection_dynamic(False, ["cpu", "cuda"])
        paused = time.time_ns()
        time.sleep(0.1)
        resumed = time.time_ns()
        p.toggle_collection_dynamic(True, ["cpu", "cuda"])
        work(torch, matrix, 0.05)
    starts = [event.start_ns for event in counters(p.trace, ACTIVE)]
    assert not [start for start in starts if paused < start < resumed]
    assert [start for start in starts if start < paused]
    assert [start for start in starts if start > resumed]


def test_it_is_stopped_by_another_thread_while_the_gpu_works(torch: Any, matrix: Any) -> None:
    p = kg.profile(**options(ACTIVE))
    p.start()
    stopping = threading.Timer(0.1, p.stop)
    stopping.start()
    work(torch, matrix, 0.3)
    stopping.join()
    assert len(counters(p.trace, ACTIVE)) > 100, notes(p.trace)


def test_wrong_names_and_too_many_passes_are_told(torch: Any) -> None:
    with pytest.raises(kg.UsageError, match=r"near to that: .*dram__throughput"):
        kg.profile(**options("dram__troughput.avg")).start()
    with pytest.raises(kg.UsageError, match=r"passes of each alone: .*sm__throughput"):
        kg.profile(**options(ACTIVE, BUSY)).start()
    # Nothing is left behind of those.
    with kg.profile(**options(ACTIVE)) as p:
        time.sleep(0.05)
    assert len(counters(p.trace, ACTIVE)) > 100, notes(p.trace)


@pytest.mark.parametrize(("end", "status"), [("sys.exit(3)", 3), ("raise ValueError", 1), ("pass", 0)])
def test_a_program_that_ends_while_sampled_leaves_its_trace(
    torch: Any, tmp_path: Path, end: str, status: int
) -> None:
    program = ENDS_WHILE_SAMPLED.format(metric=ACTIVE, end=end)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == status, done.stderr
    trace = kg.load(tmp_path / "trace.json")
    assert len(counters(trace, ACTIVE)) > 1000, notes(trace)
    assert kernels(trace)


def test_a_program_that_leaves_at_once_while_sampled_is_not_kept(torch: Any, tmp_path: Path) -> None:
    program = ENDS_WHILE_SAMPLED.format(metric=ACTIVE, end="os._exit(4)")
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stderr) == (4, "")

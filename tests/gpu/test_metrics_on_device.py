"""Hardware metrics for real, beside what Nsight Compute counts of the same kernels."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.hard_cases import wait_until
from tests.on_device import BOTH, notes, torch_where_granted

import kinetograph as kg

READ = "dram__bytes_read.sum"
WRITTEN = "dram__bytes_write.sum"
INSTRUCTIONS = "smsp__inst_executed.sum"
BUSY = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
ELEMENTS = 64 << 20
NBYTES = 4 * ELEMENTS

WORK = """
import torch
big = torch.ones(64 << 20, device="cuda")
out = torch.empty_like(big)
left, right = (torch.ones(2048, 2048, device="cuda") for _ in range(2))
torch.add(big, 1, out=out)
left @ right
torch.cuda.synchronize()
"""


@pytest.fixture(scope="module")
def torch() -> Any:
    return torch_where_granted(activities=BOTH, experimental_config=metrics(INSTRUCTIONS, per_kernel=True))


@pytest.fixture
def big(torch: Any) -> Iterator[tuple[Any, Any]]:
    source = torch.ones(ELEMENTS, device="cuda")
    yield source, torch.empty_like(source)
    torch.cuda.synchronize()


def metrics(*names: str, per_kernel: bool = False) -> kg.ExperimentalConfig:
    return kg.ExperimentalConfig(profiler_metrics=names, profiler_measure_per_kernel=per_kernel)


def ranges(trace: kg.Trace) -> list[kg.Event]:
    return [event for event in trace.events if event.category == "cuda_profiler_range"]


def kernels_of(torch: Any, big: tuple[Any, Any], *names: str) -> dict[str, dict[str, float]]:
    """The two kernels of WORK."""
    left, right = (torch.ones(2048, 2048, device="cuda") for _ in range(2))
    torch.mm(left, right)
    torch.add(big[0], 1, out=big[1])
    torch.cuda.synchronize()
    with kg.profile(activities=BOTH, experimental_config=metrics(*names, per_kernel=True)) as p:
        torch.add(big[0], 1, out=big[1])
        torch.mm(left, right)
    found = ranges(p.trace)
    assert len(found) == 2, [event.name for event in found]
    return {"add": dict(found[0].args), "matmul": dict(found[1].args)}


def test_a_kernel_reads_and_writes_what_it_must(torch: Any, big: tuple[Any, Any]) -> None:
    found = kernels_of(torch, big, READ, WRITTEN, INSTRUCTIONS, BUSY)
    assert found["add"][READ] == pytest.approx(NBYTES, rel=0.02)
    # What is left in the cache is written later.
    assert found["add"][WRITTEN] == pytest.approx(NBYTES, rel=0.25)
    assert found["matmul"][BUSY] > 50
    assert found["matmul"][INSTRUCTIONS] > found["add"][INSTRUCTIONS] > 0


def ncu() -> str:
    found = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    if not os.path.exists(found):
        pytest.skip("no ncu here")
    return found


def counted_by_ncu(tmp_path: Path, *names: str) -> dict[str, dict[str, float]]:
    program = tmp_path / "work.py"
    program.write_text(WORK)
    # As we do: clocks and caches as they are.
    undisturbed = ["--clock-control", "none", "--cache-control", "none"]
    command = [ncu(), *undisturbed, "--print-units", "base", "--csv", "--metrics", ",".join(names)]
    done = subprocess.run(
        [*command, sys.executable, str(program)], capture_output=True, text=True, timeout=300, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    if done.returncode != 0 or not lines:
        pytest.skip(f"ncu counts nothing here: {done.stdout[-500:]} {done.stderr[-500:]}")
    found: dict[str, dict[str, float]] = {"add": {}, "matmul": {}}
    for row in csv.DictReader(lines):
        name = row["Kernel Name"]
        kind = "add" if "add" in name.lower() else "matmul" if "gemm" in name.lower() else ""
        if kind:
            found[kind][row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
    return found


def test_values_agree_with_those_of_nsight_compute(
    torch: Any, big: tuple[Any, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = (READ, INSTRUCTIONS, BUSY)
    ours, theirs = kernels_of(torch, big, *names), counted_by_ncu(tmp_path, *names)
    with capsys.disabled():
        print(f"\nours {ours}\nncu  {theirs}")
    for kernel, metric in (("add", READ), ("add", INSTRUCTIONS), ("matmul", INSTRUCTIONS), ("matmul", BUSY)):
        assert ours[kernel][metric] == pytest.approx(theirs[kernel][metric], rel=0.05), (kernel, metric)


def test_more_kernels_than_the_counters_hold_are_all_there(torch: Any) -> None:
    x = torch.ones(64, device="cuda")
    with kg.profile(activities=BOTH, experimental_config=metrics(INSTRUCTIONS, per_kernel=True)) as p:
        for _ in range(150):
            x.add_(1)
            x.mul_(1)
    found = ranges(p.trace)
    assert len(found) == 300, notes(p.trace)
    assert len({event.name for event in found[::2]}) == len({event.name for event in found[1::2]}) == 1
    assert found[0].name != found[1].name
    assert float(x[0]) == 151


def test_threads_may_launch_at_the_same_time(torch: Any) -> None:
    tensors = [torch.ones(64, device="cuda") for _ in range(4)]

    def work(x: Any) -> None:
        for _ in range(60):
            x.add_(1)

    with kg.profile(activities=BOTH, experimental_config=metrics(INSTRUCTIONS, per_kernel=True)) as p:
        threads = [threading.Thread(target=work, args=(x,)) for x in tensors]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(ranges(p.trace)) == 240, notes(p.trace)
    assert [float(x[0]) for x in tensors] == [61] * 4


def test_scopes_count_what_runs_in_them(torch: Any, big: tuple[Any, Any]) -> None:
    with kg.profile(activities=BOTH, experimental_config=metrics(READ)) as p:
        for _ in range(2):
            with kg.scope("twice"):
                torch.add(big[0], 1, out=big[1])
                with kg.scope("inner"):
                    torch.add(big[0], 1, out=big[1])
        torch.add(big[0], 1, out=big[1])
        with kg.scope("nothing"):
            pass
    found = ranges(p.trace)
    assert [event.name for event in found] == ["twice", "twice", "nothing"], notes(p.trace)
    assert [event.args[READ] for event in found[:2]] == pytest.approx([2 * NBYTES] * 2, rel=0.02)
    assert found[2].args[READ] < NBYTES / 100


def test_more_scopes_than_the_counters_hold_are_all_there(torch: Any) -> None:
    x = torch.ones(64, device="cuda")
    with kg.profile(activities=BOTH, experimental_config=metrics(INSTRUCTIONS)) as p:
        for number in range(450):
            with kg.scope(f"scope {number}"):
                x.add_(1)
    found = ranges(p.trace)
    assert [event.name for event in found] == [f"scope {number}" for number in range(450)]
    assert len({event.args[INSTRUCTIONS] for event in found}) == 1


def test_launches_into_a_capture_are_no_kernels(torch: Any) -> None:
    x = torch.ones(64, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with kg.profile(activities=BOTH, experimental_config=metrics(INSTRUCTIONS, per_kernel=True)) as p:
        with torch.cuda.graph(graph):
            x.add_(1)
        graph.replay()
        x.mul_(1)
    found = ranges(p.trace)
    assert not any("add" in event.name.lower() for event in found), [event.name for event in found]
    assert "CUDA graph" in [event.name for event in found]
    assert float(x[0]) == 2


def test_a_wrong_name_is_told_with_right_ones(torch: Any) -> None:
    wrong = metrics("dram__byte_read.sum", per_kernel=True)
    with pytest.raises(kg.UsageError, match=r"near to that: .*dram__bytes_read"):
        kg.profile(activities=BOTH, experimental_config=wrong).start()
    with pytest.raises(kg.UsageError, match=r"passes of each alone: .*sm__throughput"):
        kg.profile(activities=BOTH, experimental_config=metrics(READ, BUSY)).start()


def test_records_and_metrics_come_one_after_the_other(torch: Any) -> None:
    x = torch.ones(64, device="cuda")
    for _ in range(2):
        with kg.profile(activities=BOTH, experimental_config=metrics(INSTRUCTIONS, per_kernel=True)) as p:
            x.add_(1)
        assert len(ranges(p.trace)) == 1, notes(p.trace)
        with kg.profile(activities=BOTH) as p:
            x.add_(1)
        assert [event.category for event in p.events()].count("kernel") == 1, notes(p.trace)


def is_started_behind_torch(p: kg.profile, launch: Callable[[], object]) -> bool:
    """Once it has ended, a thread of its profiler asks to let go of CUPTI at the next launch."""
    launch()
    try:
        p.start()
    except kg.StateError:
        return False
    return True


def test_torchs_profiler_and_metrics_exclude_each_other(torch: Any) -> None:
    x = torch.ones(64, device="cuda")
    wanted = metrics(INSTRUCTIONS, per_kernel=True)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]):
        x.add_(1)
        torch.cuda.synchronize()
        with pytest.raises(kg.StateError, match="another tool"):
            kg.profile(activities=BOTH, experimental_config=wanted).start()
    p = kg.profile(activities=BOTH, experimental_config=wanted)
    wait_until(lambda: is_started_behind_torch(p, lambda: torch.add(x, 1)), "torch lets go of CUPTI")
    x.add_(1)
    p.stop()
    assert len(ranges(p.trace)) == 1, notes(p.trace)

"""Programs that we did not write, how to call them, and traces that are hard for them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

import kinetograph as kg
from kinetograph.trace import EventKind, Trace
from sample_traces import NOW_NS, gpu_trace

JUDGES = os.environ.get("KINETOGRAPH_JUDGES", "")
INSTALLED = Path(os.environ.get("JUDGES", Path.home() / ".cache" / "kinetograph-judges"))
TRACES = os.environ.get("KINETOGRAPH_TRACES", "")

needs_judges = pytest.mark.skipif(
    not JUDGES, reason="KINETOGRAPH_JUDGES does not name the folder of the judges"
)
needs_traces = pytest.mark.skipif(
    not TRACES, reason="KINETOGRAPH_TRACES does not name a folder of real traces"
)


def required(path: Path, hint: str) -> Path:
    if not path.exists():
        pytest.skip(f"{path} is not there: run {JUDGES}/setup.sh {hint}")
    return path


def perfetto_answers(path: Path, *queries: str) -> list[list[dict[str, Any]]]:
    """The rows of each query, from one run of Perfetto's trace processor."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    required(INSTALLED / "perfetto", "perfetto")
    command = [node, str(Path(JUDGES) / "tpq.mjs"), "--json", str(path), *queries]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # Names may hold what else splitlines() takes for the end of a line.
    return [json.loads(line) for line in done.stdout.rstrip("\n").split("\n")]


def perfetto(path: Path, query: str) -> list[dict[str, Any]]:
    (rows,) = perfetto_answers(path, query)
    return rows


def python_judge(judge: str, script: str, *arguments: Path) -> str:
    python = required(INSTALLED / judge / "bin" / "python", judge)
    command = [str(python), str(Path(JUDGES) / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def hard_trace() -> Trace:
    """Nested, touching, empty and crossing spans, odd names, instants, counters, threads and a device."""
    trace = gpu_trace()
    native = trace.native
    names = ["plain", 'quote " \\ \n', "\u20ac \U0001f600", "a" * 3000, "[memory]"]
    for tid in (11, 12, 13):
        native.name_track(1, tid, f"thread {tid} (worker)", tid)
        for i in range(200):
            start_ns, duration_ns = NOW_NS + 37 * i * tid, (i * 7919) % 997
            native.append(
                names[i % len(names)], "user_annotation", EventKind.SPAN, start_ns, duration_ns, 1, tid
            )
    for i in range(50):
        # Kernels of one stream that overlap, as programmatic dependent launch makes them.
        native.append(f"kernel {i}", "kernel", EventKind.SPAN, NOW_NS + 20_000 + 100 * i, 150 + i, 0, 7)
    native.append("mark", "cpu_instant_event", EventKind.INSTANT, NOW_NS + 50, 0, 1, 11)
    native.append("loss", "counter", EventKind.COUNTER, NOW_NS + 60, 0, 1, 11, args_json='{"value": 2.5}')
    native.sort()
    return trace


def recorded_trace() -> Trace:
    """What the recorder makes of threads, interleaved tasks, crossing scopes and one that stays open."""

    async def task(number: int) -> None:
        with kg.scope(f"task {number}"):
            await asyncio.sleep(0)
            with kg.scope("inside"):
                await asyncio.sleep(0)

    async def tasks() -> None:
        await asyncio.gather(*map(task, range(30)))

    kg.enable_profiler(all_threads=True)
    workers = [threading.Thread(target=asyncio.run, args=(tasks(),)) for _ in range(3)]
    for worker in workers:
        worker.start()
    first, second = kg.scope("first"), kg.scope("second")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    kg.mark("mark")
    kg.counter("queue", 3)
    for worker in workers:
        worker.join()
    trace = kg.disable_profiler().trace
    second.__exit__(None, None, None)
    return trace

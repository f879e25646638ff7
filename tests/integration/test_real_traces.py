"""Traces that PyTorch wrote, read by us and by plain `json`."""

from __future__ import annotations

import gzip
import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kinetograph.trace import DeviceType, Trace, load

FOLDER = os.environ.get("KINETOGRAPH_TRACES", "")
PATHS = sorted(Path(FOLDER).glob("*.json*")) if FOLDER else []

pytestmark = pytest.mark.skipif(not PATHS, reason="KINETOGRAPH_TRACES names no folder of real traces")
every_trace = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)


def plain_events(path: Path) -> list[dict[str, Any]]:
    text = path.read_bytes()
    text = gzip.decompress(text) if path.suffix == ".gz" else text
    events: list[dict[str, Any]] = json.loads(text, parse_float=Decimal)["traceEvents"]
    return events


def kernel_times(trace: Trace) -> tuple[int, int]:
    durations = trace.columns["duration_ns"][trace.columns["category"] == trace.categories.index("kernel")]
    return len(durations), int(durations.sum())


@every_trace
def test_kernels_and_their_total_time_equal_what_json_gives(path: Path) -> None:
    kernels = [event["dur"] for event in plain_events(path) if event.get("cat") == "kernel"]
    assert kernel_times(load(path)) == (len(kernels), int(sum(kernels) * 1000))


@every_trace
def test_every_event_but_kinetos_own_rows_is_there(path: Path) -> None:
    events = [event for event in plain_events(path) if event.get("cat") and event["cat"] != "Trace"]
    trace = load(path)
    assert len(trace) == sum(event["ph"] in "Xi" for event in events)
    assert trace.notes == []


@every_trace
def test_save_load_save_gives_the_same_bytes(path: Path, tmp_path: Path) -> None:
    saved = tmp_path / "trace.json"
    load(path).save(saved)
    first = saved.read_bytes()
    load(saved).save(saved)
    assert saved.read_bytes() == first


@every_trace
def test_launches_find_their_device_work_again(path: Path) -> None:
    flows = {event["id"] for event in plain_events(path) if event["ph"] == "s" and event.get("cat") == "ac2g"}
    trace = load(path)
    on_device = {e.correlation_id for e in trace.events if e.device_type is not DeviceType.CPU}
    launches = {e.correlation_id for e in trace.events if e.category in ("cuda_runtime", "cuda_driver")}
    assert len(trace.tracks) > 0
    if flows:
        assert flows & on_device <= launches

"""Events that others measured: `report_event` and `report_memory_usage`."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kinetograph as kg
from kinetograph.errors import KinetographError
from kinetograph.trace import EventKind
from recorded import by_name, names, recording


def test_an_event_of_a_device_has_its_times_place_and_arguments() -> None:
    with recording() as window:
        now = time.time_ns()
        kg.report_event(
            "shader", now, now + 500, kg.DeviceType.VULKAN, 1, resource=3, correlation_id=7, grid=[8, 8]
        )
    (event,) = window.trace.events
    assert (event.name, event.start_ns, event.duration_ns) == ("shader", now, 500)
    assert (event.device_type, event.device_index, event.thread_id) == (kg.DeviceType.VULKAN, 1, 3)
    assert (event.category, event.correlation_id, event.kind) == ("kernel", 7, EventKind.SPAN)
    assert event.args["grid"] == [8, 8]
    assert (event.args["device"], event.args["stream"]) == (1, 3)


def test_events_of_one_queue_share_a_track_and_are_in_order() -> None:
    with recording() as window:
        now = time.time_ns()
        for start_ns in (now + 200, now, now + 100):
            kg.report_event("work", start_ns, start_ns + 50, resource=1)
        kg.report_event("other", now, now + 50, resource=2)
    assert [track.tid for track in window.trace.tracks] == [1, 2]
    starts = [event.start_ns for event in window.trace.events if event.name == "work"]
    assert starts == sorted(starts)


def test_events_outside_of_the_window_are_left_out() -> None:
    long_ago = time.time_ns() - 10**12
    with recording() as window:
        kg.report_event("long ago", long_ago, long_ago + 5)
        now = time.time_ns()
        kg.report_event("now", now, now + 5)
    assert names(window.trace) == ["now"]


def test_it_survives_saving_and_loading(tmp_path: Path) -> None:
    with recording() as window:
        now = time.time_ns()
        with kg.scope("host"):
            kg.report_event("shader", now, now + 500, kg.DeviceType.VULKAN, 0, resource=3, note="ü")
    window.trace.save(tmp_path / "trace.json")
    loaded = by_name(kg.load(tmp_path / "trace.json"))
    assert loaded["shader"].duration_ns == 500
    assert loaded["shader"].args["note"] == "ü"
    json.loads((tmp_path / "trace.json").read_text())


def test_without_a_session_nothing_happens() -> None:
    kg.report_event("shader", 1, 2)
    kg.report_memory_usage(0, 1, 1, 1)


@pytest.mark.parametrize("name", ["", "a\0b", "lone \ud800", "ü" * 40_000])
def test_any_name_will_do(name: str) -> None:
    with recording() as window:
        now = time.time_ns()
        kg.report_event(name, now, now)
    assert len(window.trace) == 1


@pytest.mark.parametrize("value", [math.nan, b"x", object(), {1}, "\ud800"])
def test_arguments_of_any_type_become_json(value: Any, tmp_path: Path) -> None:
    with recording() as window:
        now = time.time_ns()
        kg.report_event("shader", now, now, odd=value, plain=1)
    window.trace.save(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    (event,) = [event for event in events if event.get("name") == "shader"]
    assert event["args"]["plain"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": 3}, "name: expected a string, got 3"),
        ({"start_ns": "1"}, "start_ns: expected a whole number, got '1'"),
        ({"end_ns": 2.5}, "end_ns: expected a whole number"),
        ({"device_index": "x"}, "device_index: expected a whole number"),
        ({"resource": 1 << 70}, "resource: expected at most 9223372036854775807, got"),
        ({"correlation_id": "x"}, "correlation_id: expected a whole number"),
        ({"end_ns": 0}, "end_ns=0 lies before start_ns=1"),
        ({"correlation_id": -1}, "correlation_id: expected at least 0"),
        ({"correlation_id": 1 << 32}, "correlation_id: expected at most 4294967295"),
        ({"device_type": "toaster"}, "device_type: expected a member of DeviceType, got 'toaster'"),
    ],
)
def test_what_makes_no_sense_is_refused_even_without_a_session(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(KinetographError, match=message):
        kg.report_event(**{"name": "x", "start_ns": 1, "end_ns": 2} | arguments)


def test_memory_usage_is_an_instant_with_its_numbers(tmp_path: Path) -> None:
    with recording() as window:
        kg.report_memory_usage(0x1000, 512, 4096, 8192, kg.DeviceType.CUDA, 1)
        kg.report_memory_usage(0x1000, -512, 3584, 8192, kg.DeviceType.CUDA, 1)
    first, second = window.trace.events
    assert (first.name, first.kind) == ("[memory]", EventKind.MEMORY)
    assert first.args == {
        "Addr": 0x1000,
        "Bytes": 512,
        "Total Allocated": 4096,
        "Total Reserved": 8192,
        "Device Type": 1,
        "Device Id": 1,
    }
    assert second.args["Bytes"] == -512
    window.trace.save(tmp_path / "trace.json")
    assert [event.args["Bytes"] for event in kg.load(tmp_path / "trace.json").events] == [512, -512]


def test_memory_usage_on_the_host_is_the_default() -> None:
    with recording() as window:
        kg.report_memory_usage(1, 2, 3, 4)
    (event,) = window.trace.events
    assert (event.args["Device Type"], event.args["Device Id"]) == (0, -1)


def test_memory_usage_stands_in_the_thread_that_reported_it() -> None:
    with recording() as window, kg.scope("allocates"):
        kg.report_memory_usage(1, 2, 3, 4)
    events = by_name(window.trace)
    assert events["[memory]"].parent == events["allocates"]


@pytest.mark.parametrize(
    "arguments",
    [("a", 1, 1, 1), (0, 1.5, 1, 1), (0, 1, None, 1), (0, 1, 1, 1 << 70), (0, 1, 1, 1, "toaster")],
)
def test_memory_is_told_in_whole_numbers_even_without_a_session(arguments: Any) -> None:
    with pytest.raises(kg.KinetographError, match="expected"):
        kg.report_memory_usage(*arguments)


def test_numbers_of_numpy_are_numbers() -> None:
    with recording() as window:
        now = np.int64(time.time_ns())
        kg.report_event("shader", now, now, resource=np.int32(4))
        kg.report_memory_usage(*np.array([1, 2, 3, 4]))
    assert sorted(event.name for event in window.trace.events) == ["[memory]", "shader"]


def test_times_that_no_file_can_hold_are_refused_at_the_door() -> None:
    with pytest.raises(KinetographError, match=r"end_ns: expected .* got 9223372036854775807"):
        kg.report_event("late", 0, (1 << 63) - 1)
    with pytest.raises(KinetographError, match="longer than files can hold"):
        kg.report_event("long", -(1 << 60), 1 << 61)

"""Kineto's text: what ours becomes, and what of others' is passed on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetograph.errors import KinetographError, NotAvailable, UsageError
from kinetograph.ondemand.daemon.kineto_config import checked_config, config_for, file_of_process
from kinetograph.ondemand.request import CaptureRequest


def settings(text: str) -> dict[str, str]:
    return dict(line.split("=") for line in text.splitlines())  # type: ignore[misc]


def asked(**members: object) -> dict[str, str]:
    return settings(config_for(CaptureRequest(**members), "/tmp/x.json"))  # type: ignore[arg-type]


def test_a_duration_is_told_in_milliseconds_and_nothing_warms_up_without_a_gpu() -> None:
    assert asked(duration_ns=200_000_000) == {
        "ACTIVITIES_LOG_FILE": "/tmp/x.json",
        "ACTIVITIES_DURATION_MSECS": "200",
        "ACTIVITIES_WARMUP_PERIOD_SECS": "0",
        "ACTIVITY_TYPES": "cpu_op,user_annotation,python_function,cpu_instant_event",
    }
    assert asked(duration_ns=1)["ACTIVITIES_DURATION_MSECS"] == "1"
    assert "ACTIVITY_TYPES" not in asked(activities=["CPU", "CUDA"])


@pytest.mark.parametrize(
    ("members", "start"),
    [
        ({}, ("PROFILE_START_ITERATION_ROUNDUP", "1")),
        ({"start_step": 12}, ("PROFILE_START_ITERATION", "12")),
        ({"start_step_multiple": 100}, ("PROFILE_START_ITERATION_ROUNDUP", "100")),
    ],
)
def test_steps_are_told_with_the_step_to_begin_at(members: dict[str, int], start: tuple[str, str]) -> None:
    told = asked(steps=5, **members)
    assert told["ACTIVITIES_ITERATIONS"] == "5"
    assert start in told.items()
    assert "ACTIVITIES_DURATION_MSECS" not in told


def test_switches_start_time_and_trace_id_are_told() -> None:
    told = asked(
        with_stack=True, report_input_shapes=True, start_time_ns=1_700_000_000_123_456_789, trace_id="a b"
    )
    assert told["PROFILE_WITH_STACK"] == told["PROFILE_REPORT_INPUT_SHAPES"] == "true"
    assert told["PROFILE_START_TIME"] == "1700000000123"
    assert told["REQUEST_TRACE_ID"] == "a b"


@pytest.mark.parametrize("trace_id", ["a=b", "a#b", "a\nACTIVITIES_LOG_FILE=/etc/passwd", " a", "a\0"])
def test_what_would_be_read_otherwise_is_refused(trace_id: str) -> None:
    with pytest.raises(UsageError, match="has no place for"):
        asked(trace_id=trace_id)


@pytest.mark.parametrize("members", [{"ring_dump": True}, {"memory_profile": True}, {"activities": ["XPU"]}])
def test_what_pytorch_does_not_record_this_way_is_refused(members: dict[str, object]) -> None:
    with pytest.raises(NotAvailable):
        asked(**members)


def test_a_config_of_others_is_passed_on_where_its_file_may_lie(tmp_path: Path) -> None:
    text = f"# remark\n ACTIVITIES_LOG_FILE = {tmp_path}/x.json # here\n\nACTIVITIES_DURATION_MSECS=20\n"
    config, path = checked_config(text, [str(tmp_path)])
    assert settings(config) == {"ACTIVITIES_LOG_FILE": path, "ACTIVITIES_DURATION_MSECS": "20"}
    assert path == os.path.realpath(tmp_path / "x.json")


@pytest.mark.parametrize(
    "path",
    [
        "/etc/x.json",
        "{root}/../x.json",
        "{root}/link/x.json",
        "x.json",
        "{root}/x.sh",
        "{root}/a.json/b.json",
        "/\ud800.json",
        "/a\0.json",
    ],
)
def test_a_file_that_lies_elsewhere_is_refused(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    with pytest.raises(UsageError, match=r"^config: "):
        checked_config(f"ACTIVITIES_LOG_FILE={path.format(root=root)}", [str(root)])


@pytest.mark.parametrize(
    "line", ["PROFILE_MEMORY=true", "KINETO_ANYTHING=1", "a=b=c", "nonsense", "X" * 20000]
)
def test_what_a_request_may_not_set_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(UsageError, match=r"^config: "):
        checked_config(f"ACTIVITIES_LOG_FILE={tmp_path}/x.json\n{line}", [str(tmp_path)])


def test_the_pid_goes_where_kineto_puts_it() -> None:
    assert file_of_process("/a/x.json", 7) == "/a/x_7.json"
    assert file_of_process("/a/x.pt.trace.json", 7) == "/a/x_7.pt.trace.json"
    assert file_of_process("/a/x.json.gz", 7) == "/a/x_7.json.gz"
    assert file_of_process("/a/x", 7) == "/a/x"


@given(st.text())
def test_whatever_the_text_nothing_leaves_the_allowed_directory(text: str) -> None:
    root = "/nonexistent/root"
    for candidate in (text, f"ACTIVITIES_LOG_FILE={root}/{text}", f"ACTIVITIES_LOG_FILE={text}.json"):
        try:
            config, path = checked_config(candidate, [root])
        except KinetographError:
            continue
        assert path.startswith(f"{root}/")
        assert settings(config)["ACTIVITIES_LOG_FILE"] == path

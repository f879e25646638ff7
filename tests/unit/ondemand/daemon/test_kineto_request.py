"""Kineto's configuration text as a request to an agent of ours."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetograph.errors import KinetographError, UsageError
from kinetograph.ondemand.daemon.kineto_config import _MAY_SET, checked_config, config_for
from kinetograph.ondemand.daemon.kineto_request import request_for
from kinetograph.ondemand.request import CaptureRequest


def request(*lines: str, has_steps: bool = True) -> CaptureRequest | None:
    return request_for("".join(f"{line}\n" for line in lines), has_steps=has_steps)


@pytest.mark.parametrize(
    "asked",
    [
        CaptureRequest(duration_ns=20_000_000, with_stack=True, trace_id="t"),
        CaptureRequest(steps=3, start_step_multiple=10, report_input_shapes=True, with_flops=True),
        CaptureRequest(steps=3, start_step=100, with_modules=True, profile_memory=True),
        CaptureRequest(duration_ns=1_000_000, start_time_ns=5_000_000, activities=("CPU", "CUDA")),
    ],
)
def test_what_becomes_of_a_request_becomes_the_request_again(asked: CaptureRequest) -> None:
    assert request_for(config_for(asked, "/tmp/x.json"), has_steps=True) == asked


def test_what_dyno_sends_is_understood() -> None:
    by_time = request("PROFILE_START_TIME=0", "ACTIVITIES_DURATION_MSECS=500")
    assert by_time == CaptureRequest(duration_ns=500_000_000, activities=("CPU", "CUDA"))
    by_steps = (
        "PROFILE_START_ITERATION=0",
        "PROFILE_START_ITERATION_ROUNDUP=1000",
        "ACTIVITIES_ITERATIONS=5",
    )
    assert request(*by_steps) == CaptureRequest(steps=5, start_step_multiple=1000, activities=("CPU", "CUDA"))


def test_a_process_without_steps_is_recorded_for_a_time() -> None:
    found = request("ACTIVITIES_ITERATIONS=5", "ACTIVITIES_DURATION_SECS=2", has_steps=False)
    assert found == CaptureRequest(duration_ns=2_000_000_000, activities=("CPU", "CUDA"))


def test_only_types_of_the_host_need_no_device() -> None:
    found = request("ACTIVITY_TYPES=cpu_op, python_function")
    assert found == CaptureRequest(activities=("CPU",))


def test_a_request_that_is_switched_off_is_none() -> None:
    assert request("ACTIVITIES_ENABLED=no") is None


@pytest.mark.parametrize(
    "line", ["ACTIVITIES_DURATION_MSECS=soon", "PROFILE_WITH_STACK=perhaps", "ACTIVITIES_DURATION_SECS=1e3"]
)
def test_what_cannot_be_meant_is_an_error(line: str) -> None:
    with pytest.raises(UsageError, match="config: expected"):
        request(line)


@given(
    st.dictionaries(st.sampled_from(sorted(_MAY_SET)), st.text(max_size=8) | st.integers().map(str)),
    st.booleans(),
)
def test_any_settings_become_a_request_or_an_error(settings: dict[str, str], has_steps: bool) -> None:
    told = settings | {"ACTIVITIES_LOG_FILE": "/tmp/x.json"}
    with suppress(KinetographError):
        config, _path = checked_config("\n".join(f"{key}={value}" for key, value in told.items()), ["/tmp"])
        request_for(config, has_steps=has_steps)

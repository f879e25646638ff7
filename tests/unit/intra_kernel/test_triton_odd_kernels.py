"""Profilers in branches, functions and tuples, with values of all types; and wrong use, which is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")
pytest.importorskip("torch")

import odd_kernels
from machine_code import MachineCode, compiled
from triton.compiler.errors import CompilationError

POINTERS = {"buffer": "*i64", "source": "*fp32", "number": "i32"}


def code_of(name: str) -> MachineCode:
    return compiled(getattr(odd_kernels, name), POINTERS, {}, 90)


@pytest.mark.parametrize(
    ("name", "stamps"),
    [
        ("first_thread_leads", 2),  # one of them when the segment is claimed
        ("nobody_leads", 0),
        ("leader_by_values", 2),
        ("in_branches", 4),
        ("in_functions", 6),
        ("after_all_types", 8),
        ("all_payloads", 9),
        ("small_numbers", 3),
    ],
)
def test_a_kernel_compiles_to_its_records(name: str, stamps: int) -> None:
    assert code_of(name).count("SR_CLOCKLO") == stamps


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("payload_of_several", "payload: expected a number"),
        ("task_too_large", "task_type: expected 0 to 2047, got 2048"),
        ("groups_too_many", "num_groups: expected 255 at most"),
        ("start_by_value", "is_start: expected True or False"),
        ("task_by_name", "task_type: expected a whole number, got 'load'"),
        ("task_with_fraction", "task_type: expected a whole number, got fp32"),
        ("tasks_of_several", "task_type: expected a whole number"),
        ("leaders_of_several", "is_leader: expected one value"),
        ("number_as_buffer", "profiler_buffer: expected a pointer, got int32"),
        ("no_buffer", "profiler_buffer: expected a pointer, got None"),
        ("fourth_axis", "tid: expected axis 0, 1 or 2"),
        ("enabled_by_value", "ENABLE_PROFILING: expected a constant"),
        ("groups_by_value", "num_groups: expected a constant"),
    ],
)
def test_wrong_use_does_not_compile(name: str, message: str) -> None:
    with pytest.raises(CompilationError) as caught:
        code_of(name)
    assert message in first_cause(caught.value)


def first_cause(error: BaseException) -> str:
    return first_cause(error.__cause__) if error.__cause__ is not None else str(error)


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """By kernel: tasks and payloads, or an error."""
    command = [sys.executable, str(Path(__file__).parent / "interpreted_odd.py")]
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("name", "events"),
    [
        ("first_thread_leads", [["task 0", None]]),
        ("nobody_leads", []),
        ("leader_by_values", [["task 0", 7]]),
        ("in_branches", [["task 1", None], ["task 3", None]]),
        ("small_numbers", [["task 4", 7], ["task 4", None]]),
        ("in_functions", [["task 4", 4], *[["task 5", None]] * 3, ["task 6", 7]]),
    ],
)
def test_the_interpreter_runs_it_as_well(told: dict[str, Any], name: str, events: list[Any]) -> None:
    assert told[name] == events


def test_what_is_waited_for_shows_its_number_if_it_is_one(told: dict[str, Any]) -> None:
    assert [payload for _task, payload in told["after_all_types"]] == [None, None, None, None, 2016, 4, 1]


def test_payloads_are_what_a_gpu_makes_of_them(told: dict[str, Any]) -> None:
    payloads = [payload for _task, payload in told["all_payloads"]]
    assert payloads == [-1, -(2**63), "inf", "nan", "-inf", 1, 4, 4]


def test_the_interpreter_tells_of_wrong_use_as_well(told: dict[str, Any]) -> None:
    assert "payload: expected a number" in told["payload_of_several"]
    assert "task_type: expected 0 to 2047" in told["task_too_large"]
    assert "num_groups: expected 255 at most" in told["groups_too_many"]
    assert "no profiler buffer" in told["no buffer"]
    for name in ("task_by_name", "task_with_fraction", "tasks_of_several"):
        assert "task_type: expected a whole number" in told[name]
    for name in ("number_as_buffer", "no_buffer"):
        assert "profiler_buffer: expected a pointer" in told[name]
    assert "tid: expected axis 0, 1 or 2" in told["fourth_axis"]
    assert "is_leader: expected one value" in told["leaders_of_several"]


def test_what_is_interpreted_slowly_is_as_long_as_it_took(told: dict[str, Any]) -> None:
    assert told["slow"] == [10_000_000_000]

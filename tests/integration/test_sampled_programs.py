"""Sampling under conditions that a test process must not have itself."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest
from tests.integration.hard_cases import run_program
from tests.recorded import names

from kinetograph.session.recover import recover_file

ROOT = str(Path(__file__).parents[2])
HAS_FILTERS = platform.machine() in ("x86_64", "aarch64")


def run(name: str, *args: object, expect: int = 0) -> object:
    path = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))
    return run_program(name, *args, expect=expect, PYTHONPATH=path)


def test_no_stack_is_put_together_from_two() -> None:
    result = run("sampled_torture", 3000)
    assert isinstance(result, dict)
    assert result["impossible"] == []
    # Most of them, so that it says something; some are over in a moment.
    assert result["seen"] > result["functions"] / 2


def test_a_forked_child_has_no_sampler_and_can_have_its_own() -> None:
    result = run("sampled_fork")
    assert isinstance(result, dict)
    assert result["child"] == 0
    assert result["parent"].count("main") == 1


@pytest.mark.skipif(not HAS_FILTERS, reason="the numbers of system calls are known for x86-64 and ARM only")
def test_where_the_system_call_is_forbidden_a_file_serves() -> None:
    result = run("sampled_behind_filter")
    assert isinstance(result, list)
    assert "outer" in result[0]


@pytest.mark.skipif(not HAS_FILTERS or os.geteuid() != 0, reason="only root can hide /proc from a program")
def test_where_memory_cannot_be_read_at_all_the_error_says_why(tmp_path: Path) -> None:
    message = run("sampled_behind_filter", tmp_path)
    assert isinstance(message, str)
    assert "process_vm_readv: Operation not permitted" in message
    assert "/proc/self/mem: No such file" in message
    assert "hint: use mode='trace'" in message


@pytest.mark.parametrize("way", ["return", "raise", "_exit"])
def test_a_program_that_ends_while_sampled_ends_well(way: str, tmp_path: Path) -> None:
    run("sampled_to_the_end", way, tmp_path)


def test_samples_of_a_killed_program_are_recovered(tmp_path: Path) -> None:
    run("sampled_to_the_end", "kill", tmp_path, expect=-9)
    (file,) = tmp_path.iterdir()
    found = names(recover_file(file))
    assert sum("works_for_ever" in name for name in found) >= 3

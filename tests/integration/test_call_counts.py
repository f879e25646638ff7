"""The calls that are recorded are those that the interpreter made, as a plain Python hook counts them.

Each program runs twice: once under `sys.setprofile` (3.11) or `sys.monitoring` (3.12), once recorded.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import pytest
from hard_cases import PROGRAMS, run_program

sys.path.insert(0, str(PROGRAMS))
from calling import PROGRAMS as CALLING

both_kinds = pytest.mark.parametrize("kind", ["python", "c"])
every_program = pytest.mark.parametrize("program", CALLING)


@functools.cache
def outcome(kind: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = run_program("call_counts", kind)
    return found


@both_kinds
@every_program
def test_recorded_calls_are_those_that_the_interpreter_made(program: str, kind: str) -> None:
    found = outcome(kind)[program]
    assert found["differing"] == {}, "counted, recorded"
    assert found["calls"] > 0 or kind == "c"
    assert found["losses"] == []


@both_kinds
@every_program
def test_every_call_nests_and_ends_but_those_open_at_the_end(program: str, kind: str) -> None:
    found = outcome(kind)[program]
    assert found["all nest"]
    assert found["open"] == found["open functions"]


@both_kinds
def test_recursion_without_end_is_recorded_to_its_depth(kind: str) -> None:
    found = outcome(kind)["too_deep"]
    assert found["calls"] == found["reached"] > 500
    assert found["all nest"]
    assert found["open"] == found["open functions"]

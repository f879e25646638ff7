"""After the last session nothing of it is left: no flag, no thread, no slower path."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hard_cases import PROGRAMS, wait_until

import kinetograph as kg
from kinetograph import _native
from recorded import recording


def keepers() -> int:
    """Threads of this process that are ours."""
    found = 0
    for task in os.listdir("/proc/self/task"):
        try:
            found += Path(f"/proc/self/task/{task}/comm").read_text().strip() == "kg-keeper"
        except OSError:  # it has just ended
            continue
    return found


@pytest.mark.parametrize(
    "options", [{}, {"memory_limit_bytes": 4 << 20}, {"mode": "ring", "ring_bytes": 1 << 20}]
)
def test_the_keeper_thread_ends_within_a_second_of_the_session(options: dict[str, object]) -> None:
    with recording(**options):
        for _ in range(200_000):
            kg.mark("enough to need the keeper")
    assert not _native.is_recording()
    wait_until(lambda: keepers() == 0, "the keeper ends", seconds=1)


def test_the_flag_falls_with_the_last_of_overlapping_sessions() -> None:
    with recording():
        with recording():
            assert _native.is_recording()
        assert _native.is_recording()
    assert not _native.is_recording()


def test_nothing_is_recorded_between_sessions() -> None:
    with recording():
        pass
    before = _native.memory_bytes()
    for _ in range(100_000):
        with kg.scope("off"):
            kg.mark("off")
            kg.counter("off", 1)
    assert _native.memory_bytes() == before
    with recording() as window:
        pass
    assert len(window.trace) == 0


def instructions(when: str, times: int) -> int:
    """Of a whole run of idle_scopes.py; counted, not timed, so the same on every machine."""
    # Not callgrind: on ARM it takes some returns for calls, and follows ever deeper stacks.
    cachegrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    result = subprocess.run(
        [*cachegrind, sys.executable, str(PROGRAMS / "idle_scopes.py"), when, str(times)],
        env=os.environ | {"PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return int(re.search(r"I\s+refs:\s+([\d,]+)", result.stderr)[1].replace(",", ""))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_an_idle_scope_takes_as_many_instructions_after_a_session_as_before_the_first() -> None:
    before, after = (
        (instructions(when, 101_000) - instructions(when, 1_000)) / 100_000 for when in ("before", "after")
    )
    assert after <= 1.02 * before

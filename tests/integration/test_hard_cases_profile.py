"""`kg.profile` where it is hard: for long, when the program ends, with an agent that pauses it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hard_cases import ONE_ARENA, run_program

import kinetograph as kg

# Names of steps are kept until there are 4 MiB of names, and then forgotten.
NAMES_BYTES = 4 << 20


@pytest.mark.slow
def test_ten_thousand_cycles_need_no_more_than_one() -> None:
    told = run_program("many_cycles", 10_000, **ONE_ARENA)
    assert told["traces"] == 10_000
    assert told["events"] == 30_000
    assert told["descriptors"] == 0
    assert told["growth"] < NAMES_BYTES, told


def ended(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", f"import kinetograph as kg\n{program}"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )


OPTIONS = "recording=kg.RecordOptions(path='trace.json')"


def test_a_program_that_ends_while_it_is_profiled_leaves_its_trace(tmp_path: Path) -> None:
    done = ended(f"kg.profile({OPTIONS}).start(); kg.mark('recorded')", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [event.name for event in kg.load(tmp_path / "trace.json").events] == ["recorded"]


def test_a_program_that_ends_in_warm_up_leaves_no_trace(tmp_path: Path) -> None:
    steps = "kg.schedule(wait=0, warmup=1, active=1)"
    done = ended(f"kg.profile(schedule={steps}, {OPTIONS}).start(); kg.mark('warm-up')", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "trace.json").exists()


def test_what_was_recorded_around_a_pause_survives_a_kill(tmp_path: Path) -> None:
    program = (
        "import os, signal\n"
        f"p = kg.profile(recording=kg.RecordOptions(crash_safe=True, directory={str(tmp_path)!r}))\n"
        "p.start(); kg.mark('before')\n"
        "p.toggle_collection_dynamic(False, ['CPU']); kg.mark('meanwhile')\n"
        "p.toggle_collection_dynamic(True, ['CPU'])\n"
        "with kg.scope('open'):\n"
        "    kg.mark('after'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert ended(program, tmp_path).returncode == -9
    from kinetograph.session.recover import recover_directory

    (trace,) = recover_directory(tmp_path)
    assert sorted(event.name for event in kg.load(trace).events) == [
        "Recording paused",
        "Recording resumed",
        "after",
        "before",
        "open",
    ]

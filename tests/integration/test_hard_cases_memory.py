"""The ceiling of memory: what is above it is spilled, dropped or let go of, never lost without a note."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hard_cases import PROGRAMS, run_program

import kinetograph as kg
from kinetograph import _native
from recorded import names, notes, recording

MIB = 1 << 20


@pytest.mark.slow
def test_ten_million_scopes_stay_under_256_mib_through_stop_and_write(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    told = run_program("ten_million_scopes", 10_000_000, 256 * MIB, path)
    assert told["events"] == 10_000_000
    assert told["notes"] == []
    assert count_lines(path, b'"name":"step"') == 10_000_000
    path.unlink()
    assert told["recorded_peak"] < 256 * MIB
    assert told["stopped_peak"] < 256 * MIB
    assert told["written_peak"] < 256 * MIB
    assert told["left"] < 16 * MIB


@pytest.mark.slow
def test_ten_million_scopes_stream_into_a_perfetto_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.pftrace"
    told = run_program("ten_million_scopes", 10_000_000, 256 * MIB, path)
    assert told["events"] == 10_000_000
    assert told["written_peak"] < 256 * MIB
    assert path.stat().st_size < 40 * 10_000_000
    assert len(kg.load(path)) == 10_000_000
    path.unlink()


def count_lines(path: Path, text: bytes) -> int:
    with open(path, "rb") as file:
        return sum(text in line for line in file)


def count_numbers(count: int) -> None:
    for number in range(count):
        kg.counter("number", number)


def values(trace: kg.Trace) -> list[float]:
    return [json.loads("{" + trace.native.args_of(row) + "}")["value"] for row in range(len(trace))]


def test_what_does_not_fit_into_memory_is_spilled_and_kept(tmp_path: Path) -> None:
    with recording(memory_limit_bytes=4 * MIB, directory=tmp_path) as window:
        count_numbers(400_000)
    assert len(window.trace) == 400_000
    assert values(window.trace) == list(range(400_000))
    assert notes(window.trace, "dropped") == []
    assert list(tmp_path.iterdir()) == []


def test_dropping_at_the_limit_keeps_the_oldest_and_counts_the_rest() -> None:
    with recording(memory_limit_bytes=16 * MIB, at_limit="drop") as window:
        count_numbers(1_000_000)
    kept = len(window.trace)
    # Half of the limit is for records of 32 bytes, in whole segments, beside what an earlier session left.
    assert 4 * MIB // 32 <= kept <= 16 * MIB // 32
    assert notes(window.trace, "dropped") == [
        f"{1_000_000 - kept} events were dropped: the memory limit was reached"
    ]
    assert values(window.trace) == list(range(kept))


@pytest.mark.parametrize("limit_bytes", [1, 4096, 1 * MIB, 4 * MIB])
def test_under_a_tiny_limit_everything_is_either_kept_or_counted(limit_bytes: int) -> None:
    with recording(memory_limit_bytes=limit_bytes, at_limit="drop") as window:
        count_numbers(300_000)
    kept = len(window.trace)
    assert values(window.trace) == list(range(kept))
    assert notes(window.trace, "dropped")[0].startswith(f"{300_000 - kept} events were dropped")


def test_a_session_after_one_that_was_full_records_again() -> None:
    with recording(memory_limit_bytes=4 * MIB, at_limit="drop"):
        count_numbers(300_000)
    with recording() as window:
        kg.mark("room again")
    assert names(window.trace) == ["room again"]
    assert notes(window.trace, "dropped") == []


def test_memory_is_given_back_when_the_session_ends_although_threads_live_on() -> None:
    told = run_program("idle_threads", 50, 20_000)
    assert told["events"] == 1_000_000
    # 64 KiB for the buffer of each thread, and what the next session starts with.
    assert told["growth"] < 8 * MIB


# Rings


def test_a_ring_of_bytes_keeps_the_newest() -> None:
    with recording(mode="ring", ring_bytes=2 * MIB) as window:
        count_numbers(500_000)
    kept = values(window.trace)
    assert kept == list(range(500_000 - len(kept), 500_000))
    assert 1 * MIB // 32 <= len(kept) <= 2 * MIB // 32
    assert notes(window.trace, "dropped") == []
    (note,) = notes(window.trace, "ring")
    assert note.endswith("are here: a ring lets go of what is older")


def test_a_ring_that_let_go_of_nothing_has_no_note() -> None:
    with recording(mode="ring", ring_bytes=2 * MIB) as window:
        count_numbers(100)
    assert notes(window.trace, "ring") == []


def test_a_ring_of_bytes_uses_no_more_memory_than_it_says() -> None:
    with recording(mode="ring", ring_bytes=2 * MIB):
        count_numbers(1_000_000)
        # What the keeper has made ready ahead comes on top.
        assert _native.memory_bytes() <= 16 * MIB


def test_a_ring_of_seconds_keeps_the_newest() -> None:
    # Half a second, for a busy machine may give a process nothing to do for tenths of one before the stop.
    with recording(mode="ring", ring_seconds=0.5) as window:
        until = time.monotonic_ns() + 1_000_000_000
        count = 0
        while time.monotonic_ns() < until:
            kg.counter("number", count)
            count += 1
    kept = values(window.trace)
    assert kept == list(range(count - len(kept), count))
    assert window.trace.end_ns - window.trace.start_ns <= 501_000_000
    assert kept
    assert np.ptp(window.trace.columns["start_ns"]) <= 501_000_000


def test_a_ring_keeps_scopes_that_are_still_open_however_old() -> None:
    with recording(mode="ring", ring_bytes=1 * MIB) as window, kg.scope("since the beginning"):
        count_numbers(300_000)
        with recording() as within:
            pass
    assert len(within.trace) == 1
    assert names(window.trace)[0] == "since the beginning"
    assert window.trace.events[0].start_ns == window.trace.start_ns


def test_a_ring_beside_a_recording_takes_nothing_from_it() -> None:
    with recording(), recording() as all_of_it, recording(mode="ring", ring_bytes=1 * MIB) as newest:
        count_numbers(200_000)
    assert len(all_of_it.trace) == 200_000
    assert values(newest.trace)[-1] == 199_999


# Full disks

in_small_tmpfs = 'mkdir -p $0/disk && mount -t tmpfs -o size=$1 none $0/disk && shift && exec "$@" '


def run_on_small_disk(tmp_path: Path, size: str, *args: object) -> dict[str, object]:
    """Run small_disk.py in a mount namespace of its own, with a disk of this size at tmp_path/disk."""
    command = ["unshare", "--mount", "--map-root-user", "bash", "-c", in_small_tmpfs, str(tmp_path), size]
    can_mount = subprocess.run([*command, "true"], capture_output=True)
    if can_mount.returncode != 0:
        pytest.skip(f"cannot mount a tmpfs here: {can_mount.stderr.decode().strip()}")
    result = subprocess.run(
        [*command, sys.executable, str(PROGRAMS / "small_disk.py"), *map(str, args)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("crash_safe", [False, True])
def test_on_a_full_disk_the_newest_are_dropped_and_counted(tmp_path: Path, crash_safe: bool) -> None:
    count = 1_000_000
    options = ["crash_safe"] if crash_safe else []
    told = run_on_small_disk(tmp_path, "12m", count, tmp_path / "disk", tmp_path / "trace.json", *options)
    assert 4 * MIB // 32 < told["kept"] < 20 * MIB // 32
    assert told["kept_are_the_oldest"]
    spilling = "the memory limit was reached and the disk for spilling is full"
    why = "the disk of the session file is full" if crash_safe else spilling
    assert told["dropped"] == [f"{count - told['kept']} events were dropped: {why}"]
    assert told["later"] == ["afterwards"]


def test_a_limit_on_file_sizes_is_a_full_disk_too(tmp_path: Path) -> None:
    """RLIMIT_FSIZE: the kernel sends SIGXFSZ, which Python ignores, and the call fails."""
    command, program = f'ulimit -f {8 * 1024}; exec "$@"', str(PROGRAMS / "small_disk.py")
    result = subprocess.run(
        ["bash", "-c", command, "-", sys.executable, program, "600000", str(tmp_path), "/dev/null/none.json"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 1, result.stderr
    assert "KinetographError: cannot write" in result.stderr


def test_spilling_to_a_tmpfs_is_noted() -> None:
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm")
    with recording(memory_limit_bytes=4 * MIB, directory="/dev/shm") as window:
        count_numbers(400_000)
    assert len(window.trace) == 400_000
    assert "tmpfs" in notes(window.trace, "spill")[0]


def test_each_session_spills_to_its_own_directory(tmp_path: Path) -> None:
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm")
    with recording(memory_limit_bytes=4 * MIB, directory=tmp_path) as on_disk:
        count_numbers(400_000)
    with recording(memory_limit_bytes=4 * MIB, directory="/dev/shm") as in_memory:
        count_numbers(400_000)
    assert notes(on_disk.trace, "spill") == []
    assert "tmpfs" in notes(in_memory.trace, "spill")[0]


def test_a_note_on_spilling_is_only_in_the_session_that_spilled() -> None:
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm")
    with recording(memory_limit_bytes=4 * MIB, directory="/dev/shm"):
        count_numbers(400_000)
    with recording() as window:
        kg.mark("small")
    assert {note.kind for note in window.trace.notes} == {"clock", "cost"}

"""What the launcher does between the end of the program and its own: it waits, and makes the trace whole."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hard_cases import wait_until
from runs import PROGRAMS, command, notes, recorded, scopes

import kinetograph as kg

ENDS = PROGRAMS / "ends.py"


def test_a_child_that_is_still_starting_when_the_program_ends_is_waited_for(tmp_path: Path) -> None:
    options = ("--wait", 50)
    done = recorded(tmp_path / "trace.json", PROGRAMS / "leaves_a_starting_child.py", options=options)
    assert (done.returncode, done.stderr) == (5, b"")
    found = kg.load(tmp_path / "trace.json")
    assert [event.name for event in scopes(found)] == ["late"]
    assert len(found.processes) == 2


def test_a_python_that_outlives_the_program_and_does_not_record_is_named(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    done = recorded(trace, PROGRAMS / "leaves_a_silent_child.py", options=("--wait", 0))
    pid = int(done.stdout)
    os.kill(pid, signal.SIGKILL)
    (note,) = notes(kg.load(trace), "unrecorded")
    assert re.fullmatch(rf"process {pid} \(.*\) runs and was not recorded", note)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_during_the_wait_for_a_daemon_ends_the_wait_and_the_trace_is_made(
    tmp_path: Path, name: str
) -> None:
    stop, trace = tmp_path / "stop", tmp_path / "trace.json"
    options = ("-o", trace, "--wait", 600, "--session-dir", tmp_path)
    argv = command(PROGRAMS / "leaves_an_orphan.py", stop, options=options)
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    orphan = int(process.stdout.readline())
    wait_until(lambda: waits(process.pid), "the end of the program")
    process.send_signal(getattr(signal, name))
    _stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0
    assert f"still running and recording to {tmp_path}" in stderr
    assert notes(kg.load(trace), "running") == [
        f"process {orphan} was still running when this trace was made"
    ]
    stop.touch()
    wait_until(lambda: not Path(f"/proc/{orphan}").exists(), "the end of the orphan")


def waits(launcher: int) -> bool:
    """Its program has ended, and it listens to signals again."""
    children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text()
    status = Path(f"/proc/{launcher}/status").read_text()
    masks = dict(re.findall(r"^Sig(\w+):\s*(\w+)$", status, flags=re.MULTILINE))
    heard = 1 << (signal.SIGTERM - 1)
    return not children and not int(masks["Blk"], 16) & heard and bool(int(masks["Cgt"], 16) & heard)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_while_the_trace_is_written_leaves_what_was_recorded_and_how_to_recover_it(
    tmp_path: Path, name: str
) -> None:
    options = ("-o", tmp_path / "trace.json", "--session-dir", tmp_path)
    launcher = [sys.executable, PROGRAMS / "interrupted_launcher.py", name, "run", *options]
    done = subprocess.run(
        [*map(str, launcher), str(ENDS), "sys.exit"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 3
    (directory,) = tmp_path.iterdir()  # neither the trace nor half of it
    assert f"{name} came" in done.stderr
    assert done.stderr.endswith(f"kinetograph recover {directory}\n")
    recover = [sys.executable, "-m", "kinetograph", "recover", str(directory)]
    subprocess.run(recover, check=True, timeout=60)
    assert len(scopes(kg.load(directory / "trace.json.gz"))) == 1001


def test_a_run_inside_a_run_takes_no_process_out_of_it(tmp_path: Path) -> None:
    inner, outer, kept = tmp_path / "inner.json", tmp_path / "outer.json", tmp_path / "kept"
    kept.mkdir()
    arguments = ("-m", "kinetograph", "run", "-q", "-o", inner, PROGRAMS / "workers.py", "fork")
    done = recorded(outer, *arguments, options=("--session-dir", kept))
    assert (done.returncode, done.stderr) == (0, b"")
    inside = {process.pid for process in kg.load(inner).processes}
    all_of_them = {process.pid for process in kg.load(outer).processes}
    assert len(inside) == 2
    assert inside < all_of_them
    assert len(all_of_them) == 3
    assert [event.name for event in scopes(kg.load(outer))] == [
        event.name for event in scopes(kg.load(inner))
    ]
    assert list(kept.iterdir()) == []


in_small_tmpfs = 'mkdir -p $0/disk && mount -t tmpfs -o size=$1 none $0/disk && shift && exec "$@" '


def run_on_small_disk(folder: Path, size: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """`kinetograph` in a mount namespace of its own, with a disk of this size at `folder`/disk."""
    command = ["unshare", "--mount", "--map-root-user", "bash", "-c", in_small_tmpfs, str(folder), size]
    can_mount = subprocess.run([*command, "true"], capture_output=True)
    if can_mount.returncode != 0:
        pytest.skip(f"cannot mount a tmpfs here: {can_mount.stderr.decode().strip()}")
    kinetograph = [sys.executable, "-m", "kinetograph", *map(str, arguments)]
    return subprocess.run([*command, *kinetograph], capture_output=True, text=True, timeout=60)


def test_a_full_disk_where_the_trace_should_go_leaves_what_was_recorded(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    options = ("-o", tmp_path / "disk" / "trace.json", "--session-dir", kept)
    done = run_on_small_disk(tmp_path, "16k", "run", *options, ENDS, "sys.exit")
    assert done.returncode == 3
    (directory,) = kept.iterdir()
    assert "No space left on device" in done.stderr
    assert done.stderr.endswith(f"kinetograph recover {directory}\n")
    target = tmp_path / "disk" / "recovered.json"
    done = run_on_small_disk(tmp_path, "16k", "recover", directory, "-o", target)
    assert (done.returncode, done.stdout) == (1, "")
    assert "No space left on device" in done.stderr


def test_a_full_disk_where_the_run_should_record_is_told_before_the_program_starts(tmp_path: Path) -> None:
    options = ("-o", tmp_path / "trace.json", "--session-dir", tmp_path / "disk")
    done = run_on_small_disk(tmp_path, "1m", "run", *options, "-c", "print('has run')")
    assert (done.returncode, done.stdout) == (1, "")
    assert "the disk is full" in done.stderr

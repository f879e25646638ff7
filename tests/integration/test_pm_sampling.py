"""Hardware counters on a time grid through Python, with libraries of ours in the place of NVIDIA's.

Tests let the device take its samples. The first of a sampling is worth nothing and left out; the n-th metric
of a sample of value v is 100 v + n.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import kinetograph as kg
from fake_cuda import Play
from judges import needs_judges, perfetto

PROGRAM = Path(__file__).parent / "programs" / "fake_sampling_program.py"
READ = "dram__bytes_read.sum"
ACTIVE = "sm__cycles_active.avg"
BUSY = "sm__throughput.avg.pct_of_peak_sustained_elapsed"


def test_each_sample_is_a_value_of_each_metric_beside_the_kernels(play: Play, tmp_path: Path) -> None:
    result = play("sampled", tmp_path / "trace")
    assert sorted((name, args["value"]) for name, _start, args in result["found"]) == [
        (READ, 100),
        (READ, 200),
        (ACTIVE, 101),
        (ACTIVE, 201),
    ]
    categories = {event["category"] for event in result["events"]}
    assert {"kernel", "hardware_counters", "user_annotation", "cuda_runtime"} <= categories
    assert result["interval"] == 50_000
    assert not [text for _kind, text in result["notes"] if "counters" in text]


def test_files_have_the_counters_on_their_device(play: Play, tmp_path: Path) -> None:
    result = play("sampled", tmp_path / "trace")
    assert result["read back"] == {"json": result["found"], "pftrace": result["found"]}
    written = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    counters = [event for event in written if event["ph"] == "C"]
    assert {event["cat"] for event in counters} == {"hardware_counters"}
    assert {event["pid"] for event in counters} == {0}
    assert counters[0]["args"] == {"value": 100}


def test_every_device_has_its_own(play: Play) -> None:
    assert play("two_devices") == {"found": [[0, 100], [1, 200]]}


@needs_judges
@pytest.mark.parametrize("suffix", ["json", "pftrace"])
def test_perfetto_draws_a_track_for_each_device(play: Play, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"trace.{suffix}"
    play("two_devices", path)
    counters = perfetto(
        path,
        "select pid, value, t.name from counter c join process_counter_track t on t.id = c.track_id"
        " join process using (upid)",
    )
    found = [(row["pid"], row["value"], row["name"].removesuffix(" value")) for row in counters]
    assert sorted(found) == [(0, 100, READ), (1, 200, READ)]


def test_only_steps_that_are_recorded_are_sampled(play: Play) -> None:
    assert play("steps") == {"traces": [[2], [5]], "on": 0}


def test_nothing_is_sampled_in_a_pause(play: Play) -> None:
    assert play("paused") == {"found": [1, 3]}


def test_what_cannot_be_sampled_is_refused_before_anything_is_recorded(play: Play) -> None:
    found = play("refusals")
    assert {key: value["type"] for key, value in found.items()} == {
        "before CUDA": "StateError",
        "typo": "UsageError",
        "passes": "UsageError",
        "permission": "NotAvailable",
        "device": "NotAvailable",
        "another tool": "StateError",
        "second": "StateError",
        "metrics": "StateError",
        "first": "",
    }
    texts = {key: value["text"] for key, value in found.items()}
    assert "pm_sampling_metrics cannot be measured: the program has not used CUDA" in texts["before CUDA"]
    assert "hint: near to that: dram__bytes_read.sum" in texts["typo"]
    assert (
        f"8 times, and what is sampled runs once; passes of each alone: {READ} (1), {BUSY} (8)"
        in texts["passes"]
    )
    assert "NVreg_RestrictProfilingToAdminUsers=0" in texts["permission"]
    assert "compute capability 8.0" in texts["device"]
    assert "another tool" in texts["another tool"]
    assert "another session samples hardware counters" in texts["second"]
    assert "another session records CUDA" in texts["metrics"]
    assert texts["first"] == "[1]"


def test_sessions_with_and_without_samples_come_one_after_the_other(play: Play) -> None:
    result = play("sessions_one_after_the_other")
    assert result["found"] == [[[1], 1], [[], 1], [[2], 1], [[], 1]]
    assert result["finalizations"] > 0


def test_a_session_that_did_not_ask_gets_none_and_goes_on(play: Play) -> None:
    assert play("a_session_that_did_not_ask") == {"sampled": [1], "plain": [], "kernels": 1}


def test_sampling_ends_when_another_tool_takes_cupti_over(play: Play) -> None:
    assert play("taken_over") == {"on": 0, "finalizations": 1}


def test_any_thread_may_stop_it(play: Play) -> None:
    assert play("stopped_by_another_thread") == {"found": [1], "on": 0}


def test_a_fork_leaves_the_child_clean_and_the_parent_sampling(play: Play) -> None:
    assert play("forks") == {"child": 0, "found": [1, 2]}


def test_what_was_sampled_outlives_the_process(cuda_environment: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, PROGRAM, "killed", tmp_path], env=cuda_environment, timeout=120, check=False
    )
    assert done.returncode == -9
    path = tmp_path / "recovered.json"
    subprocess.run(
        [sys.executable, "-m", "kinetograph", "recover", tmp_path, "-o", path], check=True, timeout=120
    )
    found = [event for event in kg.load(path).events if event.category == "hardware_counters"]
    assert [event.args["value"] for event in found][:1] == [100]

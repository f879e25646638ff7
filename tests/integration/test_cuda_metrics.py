"""Hardware metrics through Python, with libraries of ours in the place of NVIDIA's.

The n-th metric of a range in which k kernels ran is 100 k + n there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fake_cuda import Play

PROGRAM = Path(__file__).parent / "programs" / "fake_metrics_program.py"
READ = "dram__bytes_read.sum"
BUSY = "sm__throughput.avg.pct_of_peak_sustained_elapsed"


def ranges(result: dict[str, Any]) -> list[tuple[str, dict[str, float]]]:
    return [(e["name"], e["args"]) for e in result["events"] if e["category"] == "cuda_profiler_range"]


def texts(result: dict[str, Any]) -> str:
    return "\n".join(text for _kind, text in result["notes"])


def test_each_kernel_has_its_metrics_and_they_replace_the_records(play: Play, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    result = play("per_kernel", path)
    assert ranges(result) == [("add(float*)", {READ: 100, BUSY: 101})]
    assert {event["category"] for event in result["events"]} == {"user_annotation", "cuda_profiler_range"}
    written = json.loads(path.read_text())["traceEvents"]
    event = next(event for event in written if event.get("cat") == "cuda_profiler_range")
    assert event["pid"] == 0
    assert event["args"][READ] == 100


def test_outermost_scopes_of_the_thread_are_measured_one_by_one(play: Play) -> None:
    result = play("per_scope")
    assert ranges(result) == [("outer", {READ: 200}), ("outer", {READ: 200})]


def test_metrics_are_there_whichever_thread_stops_the_session(play: Play) -> None:
    (measured,) = play("stopped_elsewhere")["events"]
    assert measured["category"] == "cuda_profiler_range"


def test_a_thread_without_scopes_is_told_what_to_do(play: Play) -> None:
    assert "profiler_measure_per_kernel=True" in texts(play("no_scope"))


def test_only_steps_that_are_recorded_are_measured(play: Play) -> None:
    assert play("steps") == {"traces": [["step 2"], ["step 5"]]}


def test_nothing_is_measured_in_a_pause(play: Play) -> None:
    assert [name for name, _args in ranges(play("paused"))] == ["kept", "kept again"]


def test_what_cannot_be_measured_is_refused_before_anything_is_recorded(play: Play) -> None:
    found = play("refusals")
    assert {key: value["type"] for key, value in found.items()} == {
        "before CUDA": "StateError",
        "typo": "UsageError",
        "ending": "UsageError",
        "passes": "UsageError",
        "permission": "NotAvailable",
        "another tool": "StateError",
        "records": "StateError",
        "metrics": "StateError",
        "sessions": "",
    }
    texts = {key: value["text"] for key, value in found.items()}
    assert "has not used CUDA yet" in texts["before CUDA"]
    assert "hint: near to that: dram__bytes_read" in texts["typo"]
    assert "hint: near to that: dram__bytes_read.sum" in texts["ending"]
    assert f"8 times, and a scope runs once; passes of each alone: {READ} (1), {BUSY} (8)" in texts["passes"]
    assert "NVreg_RestrictProfilingToAdminUsers=0" in texts["permission"]
    assert "another tool" in texts["another tool"]
    assert "another session records CUDA" in texts["records"]
    assert "another session measures" in texts["metrics"]
    assert texts["sessions"] == "1"


def test_sessions_with_and_without_metrics_come_one_after_the_other(play: Play) -> None:
    assert play("records_come_after_metrics") == {"counts": [1, 1, 1, 1]}


def test_a_session_that_did_not_ask_gets_no_metrics(play: Play) -> None:
    assert play("a_session_without_metrics_beside_one_with_them") == {"counted": 1, "plain": 0}

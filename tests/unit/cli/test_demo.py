"""`kinetograph demo` profiles the program that ships with it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from click.testing import CliRunner

from kinetograph import cli


def test_the_demo_prints_a_summary_and_says_how_to_open_the_trace(tmp_path: Path) -> None:
    output = tmp_path / "demo.json.gz"
    result = CliRunner().invoke(cli.main, ["demo", "-o", str(output)])
    assert result.exit_code == 0, result.output
    assert f"Trace: {output}" in result.output
    assert "https://ui.perfetto.dev" in result.output
    assert "pipeline" in result.output


def test_the_demos_trace_shows_threads_tasks_marks_and_counters(tmp_path: Path) -> None:
    output = tmp_path / "demo.json.gz"
    CliRunner().invoke(cli.main, ["demo", "-o", str(output)], catch_exceptions=False)
    with gzip.open(output) as file:
        events = json.load(file)["traceEvents"]
    spans = [event for event in events if event["ph"] == "X" and event.get("cat") == "user_annotation"]
    counts = {name: sum(event["name"] == name for event in spans) for name in ("pipeline", "fetch", "decode")}
    assert counts == {"pipeline": 1, "fetch": 12, "decode": 12}
    assert len({event["tid"] for event in spans}) > 2
    assert sum(event["ph"] == "C" for event in events) == 3
    assert {event["name"] for event in events if event["ph"] == "i"} >= {"batch 0 done", "batch 2 done"}

"""`kinetograph demo` profiles the program that ships with it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kinetograph import cli
from kinetograph.cli.streams import as_called


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


def test_a_wrong_suffix_is_told_before_anything_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("kinetograph.cli.demo_program.run_pipeline", lambda: pytest.fail("ran"))
    result = CliRunner().invoke(cli.main, ["demo", "-o", str(tmp_path / "x.txt")])
    assert result.exit_code == 1
    assert "expected a path that ends in .json" in result.output


@pytest.mark.parametrize(
    ("called", "again"),
    [
        (".venv/bin/kinetograph", ".venv/bin/kinetograph"),
        ("/on/path/kinetograph", "kinetograph"),
        ("/elsewhere/kinetograph", "/elsewhere/kinetograph"),
        ("/lib/kinetograph/__main__.py", "python -m kinetograph"),
    ],
)
def test_the_command_to_type_again_is_the_one_that_was_typed(
    monkeypatch: pytest.MonkeyPatch, called: str, again: str
) -> None:
    monkeypatch.setattr("sys.argv", [called, "demo"])
    monkeypatch.setattr("shutil.which", lambda _name: "/on/path/kinetograph")
    assert as_called() == again

"""Where a command writes is looked at before anything is read or run."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kinetograph import cli


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("nowhere/trace.json", "there is no folder"),
        ("/proc/trace.json", "cannot be written to"),
        ("trace.xml", "expected a path that ends in"),
        (".json", "is a folder"),
    ],
)
@pytest.mark.parametrize("verb", ["run", "demo", "convert", "merge", "recover"])
def test_an_output_that_cannot_be_written_is_told_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, output: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".json").mkdir()
    (tmp_path / "source.json").write_text("no trace, and never looked at")
    arguments = {
        "run": ["-o", output, "-c", "open('has run', 'w')"],
        "demo": ["-o", output],
        "convert": ["source.json", output],
        "merge": ["source.json", "-o", output],
        "recover": [".", "-o", output],
    }
    result = CliRunner().invoke(cli.main, [verb, *arguments[verb]])
    assert result.exit_code in (1, 2)
    assert told in result.stderr or "is a directory" in result.stderr
    assert not (tmp_path / "has run").exists()

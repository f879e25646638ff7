"""`kinetograph convert`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kinetograph.cli import main
from kinetograph.trace import load
from sample_traces import contents, gpu_trace


def test_a_trace_keeps_its_contents(tmp_path: Path) -> None:
    source, target = tmp_path / "a.json", tmp_path / "b.json.gz"
    gpu_trace().save(source)
    result = CliRunner().invoke(main, ["convert", str(source), str(target)])
    assert (result.exit_code, result.output) == (0, "")
    assert contents(load(target)) == contents(gpu_trace())


def test_an_unknown_suffix_is_an_error_and_writes_nothing(tmp_path: Path) -> None:
    source = tmp_path / "a.json"
    gpu_trace().save(source)
    result = CliRunner().invoke(main, ["convert", str(source), str(tmp_path / "b.xyz")])
    assert result.exit_code == 1
    assert "ends in .json, .json.gz, " in result.stderr
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize(
    ("name", "better"),
    [("b.JSON", "b.json"), ("B.Json.GZ", "B.json.gz"), ("b.PFtrace", "b.pftrace"), ("b.xyz", "b.xyz.json")],
)
def test_the_hint_on_a_suffix_names_a_path_that_can_be_written(
    tmp_path: Path, name: str, better: str
) -> None:
    source = tmp_path / "a.json"
    gpu_trace().save(source)
    result = CliRunner().invoke(main, ["convert", str(source), str(tmp_path / name)])
    assert f"hint: name it {str(tmp_path / better)!r}\n" in result.stderr
    assert CliRunner().invoke(main, ["convert", str(source), str(tmp_path / better)]).exit_code == 0


@pytest.mark.parametrize("suffix", [".pftrace", ".perfetto-trace", ".pftrace.gz"])
def test_there_and_back_through_perfettos_format_is_the_same_json(tmp_path: Path, suffix: str) -> None:
    source, between, target = tmp_path / "a.json", tmp_path / f"b{suffix}", tmp_path / "a2.json"
    gpu_trace().save(source)
    for pair in ((source, between), (between, target)):
        assert CliRunner().invoke(main, ["convert", *map(str, pair)]).exit_code == 0
    assert target.read_text().replace("a2.json", "a.json") == source.read_text()

"""`kinetograph recover` prints the traces it could build."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kinetograph import cli
from kinetograph.session import recover as recovery


def test_the_traces_that_were_built_are_printed_one_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = [tmp_path / "1.json.gz", tmp_path / "2.json.gz"]
    monkeypatch.setattr(recovery, "recover_directory", lambda folder: built if folder == tmp_path else [])
    result = CliRunner().invoke(cli.main, ["recover", str(tmp_path)])
    assert (result.exit_code, result.stdout) == (0, f"{built[0]}\n{built[1]}\n")


def test_a_folder_without_session_files_is_an_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli.main, ["recover", str(tmp_path)])
    assert result.exit_code == 1
    assert result.stderr.startswith("kinetograph: ")

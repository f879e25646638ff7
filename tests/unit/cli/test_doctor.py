"""`kinetograph doctor` prints the table of features."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import kinetograph as kg
from kinetograph import cli
from kinetograph.session.features import Feature


def test_every_feature_has_a_line_of_its_own() -> None:
    result = CliRunner().invoke(cli.main, ["doctor"])
    assert result.exit_code == 0
    for feature in kg.features():
        assert feature.name in result.output
        assert feature.detail in result.output


def test_what_is_missing_comes_with_its_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    table = (Feature("python", True, "3.11"), Feature("cupti", False, "not found", "install it"))
    monkeypatch.setattr(kg, "features", lambda: table)
    result = CliRunner().invoke(cli.main, ["doctor"])
    assert result.output == (
        "python  yes  3.11\n"
        "cupti   no   not found\n"
        "             hint: install it\n"
    )  # fmt: skip

"""Where agents are looked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kinetograph.errors import UsageError
from kinetograph.ondemand.places import socket_directories

VARIABLE = "KINETOGRAPH_RUNTIME_DIR"


def test_a_variable_that_is_empty_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    without = socket_directories()
    monkeypatch.setenv(VARIABLE, "")
    assert socket_directories() == without


def test_a_directory_is_named_from_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/somewhere")
    assert socket_directories() == ["/somewhere"]
    monkeypatch.setenv(VARIABLE, "somewhere")
    with pytest.raises(UsageError, match="expected a path from the root"):
        socket_directories()


def test_the_directory_of_a_login_is_used_where_it_is_of_this_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert socket_directories()[0] == str(tmp_path / "kinetograph")
    # To us we are the others then: as root, whose variable may still be that of the user who became root.
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert str(tmp_path / "kinetograph") not in socket_directories()


def test_the_directory_of_a_login_is_named_from_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", "run")
    assert all(map(os.path.isabs, socket_directories()))

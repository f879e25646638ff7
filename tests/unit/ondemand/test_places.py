"""Where agents are looked for."""

from __future__ import annotations

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

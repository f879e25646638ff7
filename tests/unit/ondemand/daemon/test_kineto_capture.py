"""What a daemon takes from processes of other users."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kinetograph.ondemand.daemon.kineto_capture import KinetoCapture


def test_a_file_of_holes_that_another_user_has_made_is_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes nothing of their disk, and would fill ours."""
    written = tmp_path / "written.json"
    written.touch()
    os.truncate(written, 17 << 30)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    theirs: Any = SimpleNamespace(user=os.geteuid(), finish=lambda: None)
    capture = KinetoCapture(theirs, lambda: str(tmp_path))
    capture._path = str(written)
    other = os.geteuid() + 1  # to us, we are the others then
    monkeypatch.setattr(os, "geteuid", lambda: other)
    finished = capture._finished()
    assert finished["answer"] == "failed"
    assert "more than 16 GiB" in str(finished["reason"])
    assert [path.name for path in tmp_path.iterdir()] == ["written.json"]

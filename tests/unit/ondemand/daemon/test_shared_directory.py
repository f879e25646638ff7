"""Where processes of other users write to: while a daemon lives, and after it was killed."""

from __future__ import annotations

import os
from pathlib import Path

from kinetograph.ondemand.daemon.shared_directory import SharedDirectory


def test_others_can_write_and_cannot_look(tmp_path: Path) -> None:
    shared = SharedDirectory(str(tmp_path))
    assert not list(tmp_path.iterdir())
    path = Path(shared.path())
    assert path.stat().st_mode & 0o7777 == 0o1733
    assert shared.path() == str(path)
    shared.close()
    assert not list(tmp_path.iterdir())


def test_one_that_was_removed_is_made_again(tmp_path: Path) -> None:
    shared = SharedDirectory(str(tmp_path))
    os.rmdir(shared.path())
    assert Path(shared.path()).is_dir()
    shared.close()


def test_what_a_daemon_has_left_goes_when_it_is_old_and_what_one_uses_stays(tmp_path: Path) -> None:
    used = SharedDirectory(str(tmp_path))
    used.path()
    left = [tmp_path / f"kinetograph-kineto-{name}" for name in ("old", "young")]
    for directory in left:
        directory.mkdir()
        (directory / "x.json").touch()
    os.utime(left[0] / "x.json", (0, 0))
    other = tmp_path / "kinetograph-kineto-link"
    other.symlink_to(tmp_path)
    SharedDirectory(str(tmp_path))
    assert {*tmp_path.iterdir()} == {Path(used.path()), left[1], other}
    used.close()

"""Traces that nobody fetched: which are removed, and which are not."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from kinetograph.ondemand import leftovers
from kinetograph.ondemand.leftovers import remove_leftovers

DAY = 24 * 3600


def aged(path: Path, days: float, size_bytes: int = 1) -> Path:
    path.write_bytes(b"x" * size_bytes)
    os.utime(path, (0, time.time() - days * DAY))
    return path


def names(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*")}


def test_what_is_older_than_a_week_goes(tmp_path: Path) -> None:
    aged(tmp_path / "old.json.gz", 8)
    aged(tmp_path / "young.json.gz", 6)
    remove_leftovers(str(tmp_path))
    assert names(tmp_path) == {"young.json.gz"}


def test_what_daemons_have_left_goes_with_its_folder(tmp_path: Path) -> None:
    for name in ("remote-a", "remote-b", "mine"):
        (tmp_path / name).mkdir()
        aged(tmp_path / name / "x.json", 1 if name == "remote-b" else 8)
    remove_leftovers(str(tmp_path))
    others = {"remote-b", "remote-b/x.json", "mine", "mine/x.json"}  # young, and none of ours
    assert names(tmp_path) == {"remote-a", *others}
    remove_leftovers(str(tmp_path), time.time() + DAY + 60)  # the daemon would have used it by then
    assert names(tmp_path) == others


def test_together_they_are_no_larger_than_allowed_but_for_the_youngest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "MOST_BYTES", 100_000)
    for days in (0.5, 2, 3, 4):
        aged(tmp_path / f"{days}.json", days, 40_000)
    remove_leftovers(str(tmp_path))
    assert names(tmp_path) == {"0.5.json", "2.json"}
    aged(tmp_path / "0.6.json", 0.6, 400_000)
    remove_leftovers(str(tmp_path))
    assert names(tmp_path) == {"0.5.json", "0.6.json"}


def test_links_are_left_alone_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    aged(tmp_path / "elsewhere" / "old.json", 8)
    captures = tmp_path / "captures"
    captures.mkdir()
    (captures / "remote-x").symlink_to(tmp_path / "elsewhere")
    (captures / "link.json").symlink_to(tmp_path / "elsewhere" / "old.json")
    remove_leftovers(str(captures))
    assert (tmp_path / "elsewhere" / "old.json").exists()
    assert names(captures) == {"remote-x", "link.json"}


def test_a_mapped_file_that_is_in_use_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used, unused = (aged(tmp_path / f"{number}-1.kgsession", 8) for number in range(2))
    monkeypatch.setattr(leftovers, "_is_in_use", lambda path: path == str(used))
    remove_leftovers(str(tmp_path))
    assert used.exists()
    assert not unused.exists()


def test_no_directory_has_nothing_to_remove(tmp_path: Path) -> None:
    remove_leftovers(str(tmp_path / "none"))

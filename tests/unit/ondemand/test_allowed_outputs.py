"""Which files a request may make."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinetograph.errors import UsageError
from kinetograph.ondemand.outputs import chosen_output, reserved_output
from kinetograph.ondemand.places import captures_directory


@pytest.fixture(autouse=True)
def _own_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))


def test_without_a_name_it_lies_among_our_captures() -> None:
    assert Path(chosen_output("", ())).parent == Path(captures_directory())


def test_a_name_lies_there_too() -> None:
    assert chosen_output("mine.pftrace", ()) == f"{captures_directory()}/mine.pftrace"


def test_another_directory_has_to_be_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = str(tmp_path / "trace.json")
    with pytest.raises(UsageError, match="lies outside"):
        chosen_output(asked, ())
    assert chosen_output(asked, (str(tmp_path),)) == asked
    monkeypatch.setenv("KINETOGRAPH_AGENT_DIRECTORIES", f"/nowhere:{tmp_path}")
    assert chosen_output(asked, ()) == asked


@pytest.mark.parametrize(
    "asked", ["../trace.json", "/etc/trace.json", "x/../../trace.json", "link/trace.json"]
)
def test_no_way_leads_outside(tmp_path: Path, asked: str) -> None:
    (Path(captures_directory()) / "link").symlink_to(tmp_path)
    with pytest.raises(UsageError, match="lies outside"):
        chosen_output(asked, ())


def test_what_is_there_is_not_overwritten_nor_written_through() -> None:
    captures = Path(captures_directory())
    (captures / "there.json").write_text("{}")
    (captures / "link.json").symlink_to("/nowhere/at/all")
    for name in ("there.json", "link.json"):
        with pytest.raises(UsageError, match="is there already"):
            chosen_output(name, ())


def test_a_name_that_was_asked_for_is_taken_until_it_is_written() -> None:
    with reserved_output("mine.json", ()) as path:
        with pytest.raises(FileExistsError):
            open(path, "x").close()
        Path(path).write_text("{}")
    assert Path(path).read_text() == "{}"
    with pytest.raises(UsageError, match="is there already"), reserved_output("mine.json", ()):
        pass


def test_a_name_that_nothing_was_written_to_is_free_again() -> None:
    with reserved_output("mine.json", ()) as path:
        pass
    assert not Path(path).exists()


@pytest.mark.parametrize("asked", ["a\0.json", "\udcff\ud800.json"])
def test_a_name_that_the_system_cannot_take_is_refused(asked: str) -> None:
    with pytest.raises(UsageError, match="output: expected a path"):
        chosen_output(asked, ())


def test_only_traces_are_written() -> None:
    with pytest.raises(UsageError, match="expected a path that ends in"):
        chosen_output("authorized_keys", ())


def test_a_directory_that_others_can_enter_is_not_used(tmp_path: Path) -> None:
    Path(captures_directory()).chmod(0o755)
    with pytest.raises(UsageError, match=r"only this user can enter(.|\n)*let TMPDIR name another"):
        captures_directory()

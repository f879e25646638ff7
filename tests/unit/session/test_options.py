"""RecordOptions: where events are kept, and the combinations that make no sense."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kinetograph as kg
from kinetograph.errors import KinetographError
from kinetograph.session.options import RecordOptions


def test_by_default_a_gibibyte_is_kept_and_the_rest_spilled() -> None:
    options = RecordOptions()
    assert (options.mode, options.memory_limit_bytes, options.at_limit) == ("record", 1 << 30, "spill")
    assert not options.crash_safe


def test_a_ring_without_a_size_takes_the_memory_limit() -> None:
    assert RecordOptions(mode="ring", memory_limit_bytes=1 << 20).ring_limit_bytes == 1 << 20
    assert RecordOptions(mode="ring", ring_bytes=4096).ring_limit_bytes == 4096


def test_paths_may_be_strings_or_path_objects() -> None:
    options = RecordOptions(crash_safe=True, directory=Path("here"), path="trace.json")
    assert options.directory == Path("here")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "loop"}, "mode: expected 'record' or 'ring', got 'loop'"),
        ({"at_limit": "stop"}, "at_limit: expected 'spill' or 'drop'"),
        ({"memory_limit_bytes": 0}, "memory_limit_bytes: expected a positive number of bytes, got 0"),
        ({"memory_limit_bytes": True}, "memory_limit_bytes: expected a positive number"),
        ({"memory_limit_bytes": 1e9}, "memory_limit_bytes: expected a positive number of bytes"),
        ({"ring_bytes": 1 << 20}, "ring_bytes needs mode='ring'"),
        ({"ring_seconds": 2}, "ring_seconds needs mode='ring'"),
        ({"mode": "ring", "ring_seconds": -1}, "ring_seconds: expected a positive number of seconds, got -1"),
        ({"mode": "ring", "ring_bytes": 2 << 30}, "is more than memory_limit_bytes"),
        ({"memory_limit_bytes": 1 << 70}, "memory_limit_bytes: expected at most"),
        ({"mode": "ring", "ring_seconds": float("inf")}, "ring_seconds: expected at most"),
        ({"mode": "ring", "ring_seconds": float("nan")}, "ring_seconds: expected a positive number"),
        ({"crash_safe": None}, "crash_safe: expected True or False"),
        ({"directory": ""}, "directory: expected a path or None, got ''"),
        ({"path": "a\0b"}, "path: expected a path or None, got"),
        ({"path": 3}, "path: expected a path or None, got 3"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_hint(options: dict[str, Any], message: str) -> None:
    with pytest.raises(KinetographError) as caught:
        RecordOptions(**options)
    assert message in str(caught.value)
    assert caught.value.hint


def test_path_and_directory_hold_from_the_root_when_a_session_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = RecordOptions(path="trace.json", directory=".")
    assert options.usable_path() == str(tmp_path / "trace.json")
    assert options.usable_directory() == str(tmp_path)
    assert RecordOptions().usable_path() is RecordOptions().usable_directory() is None


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("trace.txt", "expected a path that ends in .json"),
        ("none/trace.json", "path: there is no folder"),
        ("folder.json", "path: expected a file"),
    ],
)
def test_a_path_that_could_not_be_written_is_refused_when_a_session_starts(
    tmp_path: Path, path: str, message: str
) -> None:
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(KinetographError, match=message):
        kg.enable_profiler(kg.ProfilerConfig(recording=RecordOptions(path=tmp_path / path)))


def test_a_directory_that_is_not_there_is_made_for_session_files_only(tmp_path: Path) -> None:
    wanted = tmp_path / "run"
    with pytest.raises(KinetographError, match="directory: there is no folder"):
        kg.enable_profiler(kg.ProfilerConfig(recording=RecordOptions(directory=wanted)))
    with pytest.raises(KinetographError, match="directory: there is no folder"):
        RecordOptions(directory=wanted / "deeper", crash_safe=True).usable_directory()
    kg.enable_profiler(kg.ProfilerConfig(recording=RecordOptions(directory=wanted, crash_safe=True)))
    kg.disable_profiler()
    assert wanted.is_dir()


def test_session_files_without_a_directory_go_to_a_folder_of_this_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    config = kg.ProfilerConfig(recording=RecordOptions(crash_safe=True))
    kg.enable_profiler(config)
    kg.disable_profiler()
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    another = folder.stat().st_uid + 1
    folder.rename(tmp_path / f"kinetograph-{another}")
    monkeypatch.setattr("os.getuid", lambda: another)
    with pytest.raises(KinetographError, match="belongs to another user"):
        kg.enable_profiler(config)


@pytest.mark.parametrize("seconds", [1e-12, 1_000_000_000])
def test_a_ring_of_any_time_is_a_ring(seconds: float) -> None:
    kg.enable_profiler(kg.ProfilerConfig(recording=RecordOptions(mode="ring", ring_seconds=seconds)))
    kg.disable_profiler()

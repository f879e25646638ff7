"""The table of what is there: always complete, never opens anything, and says how to get what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kinetograph as kg
from kinetograph.session import cuda_library, features


def by_name() -> dict[str, features.Feature]:
    return {feature.name: feature for feature in kg.features()}


def test_the_core_is_there_with_its_versions() -> None:
    table = by_name()
    assert table["native core"].is_available
    assert "ABI" in table["native core"].detail
    assert table["clock"].is_available


def test_names_are_unique_and_every_line_says_something() -> None:
    names = [feature.name for feature in kg.features()]
    assert len(names) == len(set(names))
    assert all(feature.detail for feature in kg.features())


def test_looking_opens_no_library_and_imports_no_framework() -> None:
    program = (
        "import sys, kinetograph; kinetograph.features();"
        "maps = open('/proc/self/maps').read();"
        "print([m for m in ('torch', 'triton', 'numpy', 'nvtx') if m in sys.modules],"
        "'libcuda' in maps, 'libcupti' in maps)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[] False False\n"


def test_a_library_is_found_on_the_loaders_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "libcupti.so.13").touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", f":{tmp_path}")
    monkeypatch.setattr(cuda_library, "_folders", lambda: ())
    assert str(tmp_path / "libcupti.so.13") in by_name()["cupti"].detail


def test_the_cupti_that_is_named_is_the_one_that_a_session_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "extras" / "CUPTI" / "lib64" / "libcupti.so.13"
    monkeypatch.setenv("KINETOGRAPH_CUPTI", str(library))
    assert by_name()["cupti"].detail == f"{library} does not exist"
    library.parent.mkdir(parents=True)
    library.touch()
    assert by_name()["cupti"].detail == f"{library} is no library"
    library.write_bytes(b"\x7fELF")
    assert str(library) in by_name()["cupti"].detail
    monkeypatch.delenv("KINETOGRAPH_CUPTI")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setattr(cuda_library, "_FOLDERS_OF_WHEELS", ())
    assert str(library) in by_name()["cupti"].detail


@pytest.mark.parametrize("name", [".", "a b", "in_this_folder.so"])
def test_a_cupti_that_the_loader_cannot_find_says_so(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in_this_folder.so").write_bytes(b"\x7fELF")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KINETOGRAPH_CUPTI", name)
    cupti = by_name()["cupti"]
    assert (cupti.is_available, cupti.detail) == (False, f"{name} is nowhere that the loader looks")
    assert cupti.hint == "KINETOGRAPH_CUPTI names it, and /the/whole/path is taken as it is"


def test_triton_is_of_use_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "_installed_version", {"triton": "3.6.0"}.get)
    assert by_name()["triton"].is_available
    monkeypatch.setattr(features, "_installed_version", {}.get)
    assert "pip install" in by_name()["triton"].hint


def test_scopes_can_be_timed_by_events_where_there_is_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "why_missing", lambda: None)
    assert by_name()["cuda events"].is_available
    monkeypatch.setattr(features, "why_missing", lambda: "there is no driver")
    assert by_name()["cuda events"].detail == "cannot time scopes: there is no driver"


@pytest.mark.parametrize(("version", "stays"), [(0, False), (22, True), (24, False), (130001, False)])
def test_a_cupti_that_cannot_be_left_says_so(
    version: int, stays: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "libcupti.so.13").touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    monkeypatch.setattr("kinetograph._native.cuda_status", lambda: (0, "", "", version, 0))
    assert ("attached since a session" in by_name()["cupti"].detail) is stays


def test_counters_for_administrators_only_say_how_to_open_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = tmp_path / "params"
    parameters.write_text("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n")
    monkeypatch.setattr(cuda_library, "_DRIVER_PARAMETERS", str(parameters))
    monkeypatch.setattr(features, "_cupti", lambda: features.Feature("cupti", True, "libcupti.so.13"))
    monkeypatch.setattr(cuda_library, "_is_administrator", lambda: False)
    assert "NVreg_RestrictProfilingToAdminUsers=0" in by_name()["hardware metrics"].hint
    monkeypatch.setattr(cuda_library, "_is_administrator", lambda: True)
    assert by_name()["hardware metrics"].is_available
    monkeypatch.undo()
    assert cuda_library._is_administrator() in (True, False)


def test_what_is_missing_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "_find_library", lambda name: None)
    monkeypatch.setattr(features, "_cupti_of_a_session", lambda: None)
    monkeypatch.setattr(features, "_installed_version", lambda name: None)
    table = by_name()
    assert table["cupti"].hint == "pip install 'kinetograph[cuda]'"
    assert table["torch"].hint == "pip install 'kinetograph[torch]'"


@pytest.mark.parametrize("built_for", ["9.9", "9.9+cu130"])
def test_an_observer_that_a_crash_left_half_is_none(
    built_for: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kinetograph.frameworks.torch import build

    observer = tmp_path / "kinetograph" / "torch" / f"observer-{built_for}-0.so"
    observer.parent.mkdir(parents=True)
    observer.write_bytes(b"half of it")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CXX", "/bin/true")
    monkeypatch.setattr(features, "_installed_version", lambda name: "9.9")
    assert "builds its observer" in by_name()["torch"].detail
    build._seal(observer)
    assert by_name()["torch"].detail == "torch 9.9: operators, shapes, FLOPs"


@pytest.mark.parametrize("version", ["1.13.1", "2.4.1+cu121"])
def test_a_torch_that_the_observer_does_not_know_says_since_when(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(features, "_installed_version", lambda name: version)
    torch = by_name()["torch"]
    assert (torch.is_available, f"PyTorch 2.5 and newer, not {version}" in torch.detail) == (
        False,
        True,
    )


@pytest.mark.parametrize("version", ["2.5.1", "2.13.0+cu130", "2.14.0a0+git1234", "3.0", "a fork's own"])
def test_a_torch_that_may_be_known_is_not_refused(version: str) -> None:
    from kinetograph.frameworks.torch import build

    build.require_known(version)


def test_an_observer_that_nowhere_can_be_kept_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_its_place = tmp_path / "file"
    in_its_place.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(in_its_place))
    monkeypatch.setenv("CXX", "/bin/true")
    monkeypatch.setattr(features, "_installed_version", lambda name: "9.9")
    told = by_name()["torch"]
    assert not told.is_available
    assert f"cannot be kept in {in_its_place}" in told.detail
    assert told.hint == "XDG_CACHE_HOME names a folder for it"


def test_a_cache_that_may_not_be_looked_at_holds_no_observer(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> None:
        raise PermissionError(13, "Permission denied")  # root, who runs tests, may look everywhere

    monkeypatch.setattr(Path, "glob", refuse)
    monkeypatch.setattr(features, "_installed_version", lambda name: "9.9")
    assert "torch 9.9" in by_name()["torch"].detail

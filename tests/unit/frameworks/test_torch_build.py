"""The observer for torch: where it is kept, who builds it, and what is said when that fails."""

from __future__ import annotations

import fcntl
import io
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kinetograph as kg
from kinetograph.frameworks.torch import build, operators

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed here")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "kinetograph" / "torch"


def compiler(folder: Path, script: str) -> str:
    """One that does as the script says."""
    path = folder / "compiler"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


WRITES = """
echo once >> "$(dirname "$0")/calls"
while [ "$1" != "-o" ]; do shift; done
echo made > "$2"
"""


def test_processes_that_start_together_build_it_once(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", compiler(tmp_path, WRITES))
    program = "import torch; from kinetograph.frameworks.torch.build import *; print(built_library(torch))"
    started = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    places = {process.communicate()[0].strip() for process in started}
    assert (tmp_path / "calls").read_text() == "once\n"
    assert places == {str(build.built_library(torch))}
    left = {path.suffix for path in cache.iterdir()}
    assert left == {".so", ".lock"}, "nothing half made is left"


def test_whoever_waits_for_another_process_says_so(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", compiler(tmp_path, WRITES))
    said = io.StringIO()  # pytest's would lose what comes while it is read
    monkeypatch.setattr(sys, "stderr", said)
    cache.mkdir(parents=True)
    lock = build._target(torch).with_suffix(".lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    waiting = threading.Thread(target=build.built_library, args=(torch,))
    waiting.start()
    deadline = time.monotonic() + 60
    while "waiting" not in said.getvalue() and time.monotonic() < deadline:
        time.sleep(0.001)
    lock.close()
    waiting.join()
    assert "waiting for another process, which builds the observer for torch" in said.getvalue()
    assert (tmp_path / "calls").read_text() == "once\n"


def test_what_a_build_that_was_killed_left_behind_goes_with_the_next(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", compiler(tmp_path, WRITES))
    target = build._target(torch)
    left, of_others = cache / f"build-{target.stem}-killed", cache / "build-observer-0.0-beside"
    for folder in (left, of_others):
        folder.mkdir(parents=True)
    build.built_library(torch)
    assert (left.exists(), of_others.exists()) == (False, True)


def test_the_observer_uses_the_standard_library_that_torch_uses(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says_what = f'for each; do echo "$each"; done > {tmp_path}/arguments\n{WRITES}'
    monkeypatch.setenv("CXX", compiler(tmp_path, says_what))
    build.built_library(torch, quiet=True)
    arguments = (tmp_path / "arguments").read_text().splitlines()
    (library,) = (argument for argument in arguments if "libstdc++.so" in argument)
    assert library in Path("/proc/self/maps").read_text()


def test_another_torch_has_another_observer(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", compiler(tmp_path, WRITES))
    first = build.built_library(torch, quiet=True)
    monkeypatch.setattr(torch.version, "git_version", "0" * 40)
    assert not build.is_built(torch)
    assert build.built_library(torch, quiet=True) != first


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda whole: whole[:-1],
    "empty": lambda whole: b"",
    "zeroed": lambda whole: bytes(len(whole)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_a_crash_or_a_full_disk_left_of_it_is_built_again(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    """To load it would end the process."""
    monkeypatch.setenv("CXX", compiler(tmp_path, WRITES))
    library = build.built_library(torch, quiet=True)
    whole = library.read_bytes()
    library.write_bytes(DAMAGES[damage](whole))
    assert not build.is_built(torch)
    assert build.built_library(torch, quiet=True) == library
    assert library.read_bytes() == whole
    assert (tmp_path / "calls").read_text() == "once\nonce\n"


class Terminal(io.StringIO):
    """Makes a file once it is told how long something takes."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if text.endswith(" s\r"):
            self._file.touch()
        return super().write(text)


def test_a_terminal_is_told_how_long_it_takes(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = f"while [ ! -e {tmp_path}/told ]; do sleep 0.01; done\n{WRITES}"
    monkeypatch.setenv("CXX", compiler(tmp_path, waits))
    monkeypatch.setattr(build, "_TOLD_EVERY_SECONDS", 0.01)
    monkeypatch.setattr(sys, "stderr", Terminal(tmp_path / "told"))
    build.built_library(torch)
    assert "kinetograph: 0 s\r" in sys.stderr.getvalue()  # type: ignore[attr-defined]


def test_without_a_compiler_it_says_what_was_tried(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler -O1")
    with pytest.raises(kg.NotAvailable, match="tried no-such-compiler"):
        build.built_library(torch)


def test_what_could_not_be_built_is_tried_again_when_something_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[str] = []

    def fails(_torch: Any) -> Path:
        tried.append(os.environ["CXX"])
        raise kg.NotAvailable("no compiler")

    for name, value in {"built_library": fails, "_failure": None, "_failed_with": []}.items():
        monkeypatch.setattr(operators, name, value)
    monkeypatch.setattr(operators, "is_built", lambda _torch: False)
    for compiler in ("one", "one", "another"):
        monkeypatch.setenv("CXX", compiler)
        with pytest.raises(kg.NotAvailable, match="no compiler"):
            operators._built_once(torch)
    assert tried == ["one", "another"]


def test_a_compiler_that_cannot_be_read_is_none(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", '"g++')
    with pytest.raises(kg.NotAvailable, match='tried "g'):
        build.built_library(torch)
    (row,) = (row for row in kg.features() if row.name == "torch")
    assert not row.is_available
    assert "no C++ compiler" in row.detail


def test_a_user_without_a_home_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs under any number."""

    def unknown(_number: int) -> None:
        raise KeyError

    monkeypatch.setattr("pwd.getpwuid", unknown)
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(kg.NotAvailable, match=r"(?s)no home folder.*hint: XDG_CACHE_HOME"):
        build.built_library(torch)
    (row,) = (row for row in kg.features() if row.name == "torch")
    assert not row.is_available
    assert "no home folder" in row.detail
    assert "XDG_CACHE_HOME" in row.hint


def test_what_the_compiler_said_last_is_told(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", compiler(tmp_path, "echo 'fatal error: no such header' >&2; exit 1"))
    with pytest.raises(kg.NotAvailable, match=r"(?s)observer\.cpp.*fatal error: no such header"):
        build.built_library(torch)
    assert not list(cache.glob("*.so"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o500)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(kg.NotAvailable, match="cannot be kept in"):
        build.built_library(torch)


SESSION = """
import torch, kinetograph as kg
with kg.profile({options}) as profile:
    torch.ones(2)
print([note.text for note in profile.trace.notes if note.kind == "torch"])
"""


@pytest.mark.parametrize("options", ["", 'frameworks=["torch"]'])
def test_a_session_goes_on_without_it_unless_it_was_asked_for(
    cache: Path, monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    done = subprocess.run(
        [sys.executable, "-c", SESSION.format(options=options)], capture_output=True, text=True, check=False
    )
    said = done.stderr if options else done.stdout
    assert "no C++ compiler was found" in said
    assert (done.returncode != 0) == bool(options)


def test_a_torch_that_the_observer_does_not_know_is_named_also_while_another_session_records(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = """
import torch
import kinetograph as kg
from kinetograph.frameworks.torch import build
build._OLDEST = (99, 0)
with kg.profile() as alone:
    torch.ones(1)
with kg.profile(frameworks=[]), kg.profile() as beside:
    torch.ones(1)
for profile in (alone, beside):
    print([note.text for note in profile.trace.notes if note.kind == "torch"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    told = done.stdout.splitlines()
    assert [f"PyTorch 99.0 and newer, not {torch.__version__}" in line for line in told] == [True, True]
    assert "building" not in done.stderr
    assert "compiler" not in done.stdout


def test_the_command_says_where_it_is_kept(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", compiler(tmp_path, WRITES))
    done = subprocess.run(
        [sys.executable, "-m", "kinetograph", "build", "torch"], capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{build.built_library(torch)}\n"
    assert "building the observer for torch" in done.stderr

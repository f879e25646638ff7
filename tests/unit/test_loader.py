"""What is said of the name of a library is what the loader itself makes of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kinetograph import _native
from kinetograph.loader import why_not_loadable

LIBRARY = Path(_native.__file__).with_name("libkinetograph.so")
ASK = """
import ctypes, sys
from kinetograph import _native
from kinetograph.loader import why_not_loadable
said = why_not_loadable(sys.argv[1])
try:
    ctypes.CDLL(sys.argv[1])
    print(said, "and it is")
except OSError:
    print(said, "and it is not")
"""


def asked(name: str, folder: Path, **variables: str) -> str:
    """In a process of its own: the loader reads its variables at the start."""
    program = [sys.executable, "-c", ASK, name]
    done = subprocess.run(
        program,
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.strip()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "libraries").mkdir()
    shutil.copy(LIBRARY, tmp_path / "libraries" / "ours.so")
    (tmp_path / "libraries" / "text.so").write_text("no library")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (".", "is nowhere that the loader looks and it is not"),
        ("..", "is nowhere that the loader looks and it is not"),
        ("a b", "is nowhere that the loader looks and it is not"),
        ("ours.so", "is nowhere that the loader looks and it is not"),
        ("libm.so.6", "None and it is"),
        ("libraries/ours.so", "None and it is"),
        ("libraries/text.so", "is no library and it is not"),
        ("libraries/", "is no library and it is not"),
        ("libraries/missing.so", "does not exist and it is not"),
    ],
)
def test_a_name_without_a_slash_is_left_to_the_loader(name: str, told: str, folder: Path) -> None:
    if name == "ours.so":
        shutil.copy(LIBRARY, folder)
    assert asked(name, folder) == told


@pytest.mark.parametrize("path", ["libraries", "libraries:", "/nowhere:libraries", "libraries;/nowhere"])
def test_the_loader_looks_where_its_variable_said_at_the_start(path: str, folder: Path) -> None:
    assert asked("ours.so", folder, LD_LIBRARY_PATH=path) == "None and it is"
    assert asked("libraries", folder, LD_LIBRARY_PATH=f"{path}:").startswith("is nowhere that the loader")


def test_the_loader_knows_what_ldconfig_has_found() -> None:
    ldconfig = shutil.which("ldconfig", path="/sbin:/usr/sbin")
    if ldconfig is None:
        pytest.skip("there is no ldconfig here")
    listed = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=True).stdout
    names = {line.split()[0] for line in listed.splitlines() if " => " in line}
    assert names
    assert {why_not_loadable(name) for name in names} == {None}


def test_a_pipe_is_no_library_and_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.so"
    os.mkfifo(pipe)
    assert why_not_loadable(str(pipe)) == "is no library"


def test_nothing_is_opened(folder: Path) -> None:
    library = folder / "libraries" / "ours.so"
    assert why_not_loadable(str(library)) is None
    assert str(library) not in Path("/proc/self/maps").read_text()

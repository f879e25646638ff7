"""Builds the fake CUDA of tests/native/fake_cuda for tests that play it through Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Play = Callable[..., dict[str, Any]]
"""Runs a function of a program that uses the fake CUDA, and gives what it has printed."""

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "tests" / "native" / "fake_cuda"


def headers() -> Path:
    """Of CUPTI, as the build needs them too."""
    for entry in sys.path:
        folder = Path(entry) / "nvidia" / "cu13" / "include"
        if (folder / "cupti.h").exists():
            return folder
    pytest.skip("no headers of CUPTI: pip install --group cuda-headers")


def build(folder: Path) -> Path:
    """The folder with both libraries, under the names that the real ones have."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler to build the fake CUDA with")
    common = [
        compiler,
        "-std=c++20",
        "-shared",
        "-fPIC",
        "-g",
        f"-I{ROOT / 'native'}",
        f"-isystem{headers()}",
    ]
    cuda, cupti = folder / "libcuda.so.1", folder / "libcupti.so.13"
    driver = [SOURCES / "libcuda.cpp", SOURCES / "events.cpp"]
    subprocess.run([*common, *driver, "-Wl,-soname,libcuda.so.1", "-o", cuda], check=True)
    subprocess.run(
        [
            *common,
            SOURCES / "libcupti.cpp",
            SOURCES / "program.cpp",
            SOURCES / "memory.cpp",
            SOURCES / "profiler.cpp",
            SOURCES / "pm_sampling.cpp",
            ROOT / "native" / "collect" / "cupti" / "record_sizes.cpp",
            cuda,
            f"-Wl,-rpath,{folder}",
            "-Wl,-soname,libcupti.so.13",
            "-o",
            cupti,
        ],
        check=True,
    )
    return folder

"""Operators of torch without a compiler: torch tells their names by NVTX, backward thread included."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.on_device import kernels, notes
from tests.torch_programs import operators_of

import kinetograph as kg

PROGRAM = Path(__file__).parent / "programs" / "trains_by_nvtx.py"


@pytest.fixture(scope="module")
def folder(torch: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With both traces."""
    path = tmp_path_factory.mktemp("by_nvtx")
    environment = os.environ | {"CXX": "/nonexistent", "XDG_CACHE_HOME": str(path / "cache")}
    environment.pop("INTEL_LIBITTNOTIFY64", None)
    environment.pop("NVTX_INJECTION64_PATH", None)
    done = subprocess.run(
        [sys.executable, PROGRAM, path, "cuda"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return path


def test_names_counts_and_nesting_are_those_of_torchs_profiler_on_both_threads(folder: Path) -> None:
    ours, theirs = (
        [[(seen.depth, seen.name) for seen in thread] for thread in operators_of(folder / name)]
        for name in ("ours.json", "theirs.json")
    )
    assert len(ours) == 2, [len(thread) for thread in ours]
    assert sorted(ours) == sorted(theirs)
    backward = next(thread for thread in ours if (0, "step") not in thread)
    assert any(name.startswith("autograd::engine::evaluate_function") for _depth, name in backward)


def test_the_trace_says_by_which_way_they_came(folder: Path) -> None:
    told = notes(kg.load(folder / "ours.json"))
    assert "came by NVTX, with names and nesting only" in told
    assert "no C++ compiler was found" in told


def test_kernels_hang_on_operators_that_came_by_nvtx(folder: Path) -> None:
    found = kernels(kg.load(folder / "ours.json"))
    assert found
    causes = {kernel.linked.name if kernel.linked else None for kernel in found}
    assert "aten::addmm" in causes, causes
    assert None not in causes

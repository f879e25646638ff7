"""Stand-ins for tools that take NVTX ranges and ITT tasks, and what programs have told them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SOURCES = Path(__file__).parent / "native" / "fake_tools"

Call = dict[str, Any]
"""One that a tool got: what was called, by which thread, with what."""


def build(folder: Path) -> Path:
    """The folder with the libraries."""
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to build tools with")
    common = [compiler, "-std=gnu11", "-shared", "-fPIC", "-g"]
    for name, source, options in (
        ("itt", "itt_collector", []),
        ("itt_legacy", "itt_collector", ["-DLEGACY"]),
        ("itt_sparse", "itt_collector", ["-DSPARSE"]),
        ("jit", "jit_listener", []),
        ("nvtx", "nvtx_tool", [f"-isystem{_nvtx_headers()}"]),
    ):
        library = folder / f"{name}.so"
        subprocess.run([*common, *options, SOURCES / f"{source}.c", "-o", library, "-ldl"], check=True)
    return folder


def _nvtx_headers() -> Path:
    for entry in sys.path:
        folder = Path(entry) / "nvidia" / "cu13" / "include"
        if (folder / "nvtx3" / "nvToolsExtCounters.h").exists():
            return folder
    pytest.skip("no headers of NVTX: pip install --group cuda-headers")


def read_log(path: Path) -> list[Call]:
    """In the order in which the tool was called."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def nesting(calls: list[Call]) -> list[str]:
    """The ranges of a thread as text: each is indented by those around it.

    >>> nesting(calls)
    ['step', '  load', 'step']
    """
    lines: list[str] = []
    depth = 0
    for call in calls:
        if call["call"] == "push":
            lines.append("  " * depth + call["text"])
            depth += 1
        elif call["call"] == "pop":
            depth -= 1
    assert depth == 0, "the tool saw as many ends as begins"
    return lines


def of_thread(calls: list[Call], tid: int) -> list[Call]:
    return [call for call in calls if call["tid"] == tid]


def named(calls: list[Call], call: str) -> list[Call]:
    return [each for each in calls if each["call"] == call]

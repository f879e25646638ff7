"""NVIDIA's own library takes our NVTX ranges, and tells them as we sent them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fake_cuda
from kinetograph.session.cuda_library import cupti_libraries

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture
def client(tmp_path: Path) -> Path:
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to build a client of CUPTI with")
    library = tmp_path / "client.so"
    # What the headers of a wheel include may be in a toolkit only.
    folders = fake_cuda.headers(), Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include"
    headers = [f"-isystem{folder}" for folder in folders]
    source = PROGRAMS / "marker_client.c"
    subprocess.run([compiler, "-shared", "-fPIC", *headers, source, "-o", library, "-ldl"], check=True)
    return library


def test_cupti_sees_scopes_as_nvtx_ranges(client: Path, tmp_path: Path) -> None:
    cupti = next(filter(os.path.exists, cupti_libraries()))
    output = tmp_path / "markers"
    done = subprocess.run(
        [sys.executable, PROGRAMS / "emits_to_cupti.py", client, cupti, output],
        env=os.environ | {"NVTX_INJECTION64_PATH": cupti},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    markers = [line.split("|") for line in output.read_text().splitlines()]
    ours = [marker for marker in markers if marker[2] == "kinetograph"]
    begins = {name: number for what, name, _domain, number in ours if what == "begin"}
    ends = {number for what, _name, _domain, number in markers if what == "end"}
    assert list(begins) == ["step", "load"]
    assert set(begins.values()) <= ends
    assert [name for what, name, _domain, _number in ours if what == "mark"] == ["here"]

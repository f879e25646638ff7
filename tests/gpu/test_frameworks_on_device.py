"""Whatever uses CUDA is seen: programs that know nothing of us, recorded by `kinetograph run --cuda`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.on_device import kernels

import kinetograph as kg

CUPY = """
import cupy
def work():
    x = cupy.arange(1 << 20)
    for _ in range(10):
        x = x * 3 + 1
    return int(x[5])
print(work())
"""

NUMBA = """
import numpy
from numba import cuda
@cuda.jit
def triple(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 3
def work():
    x = cuda.to_device(numpy.ones(4096))
    for _ in range(10):
        triple[16, 256](x)
    return float(x.copy_to_host()[5])
print(work())
"""

JAX = """
import os
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax
import jax.numpy as jnp
step = jax.jit(lambda x: jnp.tanh(x @ x))
def work():
    x = jnp.ones((256, 256))
    for _ in range(10):
        x = step(x)
    return float(x[5, 5])
print(jax.devices()[0].platform)
print(work())
"""

TRITON = """
import torch
import triton
import triton.language as tl
@triton.jit
def triple(x, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(x + at, tl.load(x + at) * 3)
def work():
    x = torch.ones(1024, device="cuda")
    for _ in range(10):
        triple[(1,)](x, SIZE=1024)
    return float(x[5])
print(work())
"""


PROGRAMS = {"cupy": CUPY, "numba": NUMBA, "jax": JAX, "triton": TRITON}


def run(program: Path, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, *options, str(program)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=program.parent,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("library", PROGRAMS)
def test_a_program_that_knows_nothing_of_us(library: str, tmp_path: Path) -> None:
    pytest.importorskip(library)
    program, out = tmp_path / "program.py", tmp_path / "trace.json.gz"
    program.write_text(PROGRAMS[library])
    plain = run(program)
    recorded = run(program, "-m", "kinetograph", "run", "--cuda", "--include", str(program), "-o", str(out))
    assert recorded == plain
    trace = kg.load(out)
    found = kernels(trace)
    assert len(found) >= 10, [note.text for note in trace.notes]
    (work,) = (event for event in trace.events if event.name.endswith(": work"))
    launched = sum(event.duration_ns for event in found)
    print(f"{library}: {len(found)} kernels of {launched} ns, {work.device_time_total_ns} launched by `work`")
    # XLA tries kernels out in threads of its own when it compiles.
    assert work.device_time_total_ns >= (launched if library != "jax" else 10_000)

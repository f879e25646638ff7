"""The kernels of `kernels.cu` for the CPU, compiled once."""

from __future__ import annotations

import ctypes
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from kinetograph.intra_kernel.cuda import include_dir

HERE = Path(__file__).parent


@cache
def library() -> ctypes.CDLL:
    with TemporaryDirectory() as folder:
        path = Path(folder, "host_gpu.so")
        command = ["c++", "-std=c++20", "-O1", "-Wall", "-Werror", "-Wno-unknown-pragmas", "-shared", "-fPIC"]
        subprocess.run([*command, "-I", include_dir(), HERE / "host_gpu.cpp", "-o", path], check=True)
        return ctypes.CDLL(str(path))


def launch(kernel: str, blocks: int, threads: int, buffer: Any, number: int) -> np.ndarray[Any, Any]:
    """What the kernel made of 0, 1, 2..."""
    source = np.arange(max(blocks * threads, number), dtype=np.float32)
    target = np.zeros_like(source)
    address = None if buffer is None else ctypes.c_void_p(buffer.ctypes.data)
    arrays = [ctypes.c_void_p(array.ctypes.data) for array in (source, target)]
    getattr(library(), f"launch_{kernel}")(blocks, threads, address, *arrays, number)
    return target

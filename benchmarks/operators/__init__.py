"""Who watches the operators of torch: a module per tool, all around the same loop of native code."""

import ctypes
from functools import cache
from pathlib import Path

import torch

from benchmarks.floor import HERE, OUT, build

COUNT = 20_000


@cache
def native() -> ctypes.CDLL:
    """The loop and the bare callback, built against the installed torch on first use."""
    root = Path(torch.__file__).parent
    library = OUT / f"operators-{torch.__version__}.so"
    build(
        HERE / "operators.cpp",
        library,
        *("-std=c++20", "-DNDEBUG", "-fPIC", "-shared", "-w", f"-I{root / 'include'}"),
        *("-Wl,--no-as-needed", f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10", "-lstdc++"),
    )
    return ctypes.CDLL(str(library))


def run_operators(count: int) -> None:
    native().run_operators(ctypes.c_int64(count))


def operator_name(tool: str, *, with_shapes: bool = False) -> str:
    return f"{tool}, with shapes" if with_shapes else tool

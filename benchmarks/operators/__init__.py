"""Who watches the operators of torch: a module per tool, all around the same loop of native code."""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

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


@contextmanager
def execution_trace(observer: Callable[[], Any]) -> Iterator[None]:
    with TemporaryDirectory() as folder:
        traced = observer().register_callback(f"{folder}/graph.json")
        traced.start()
        try:
            yield
        finally:
            traced.unregister_callback()


def operator_name(tool: str, *, with_shapes: bool = False) -> str:
    return f"{tool}, with shapes" if with_shapes else tool

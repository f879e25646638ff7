"""`kernels.cu` compiled for GPUs that are not here: by NVRTC, as CuPy does, and by nvcc."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from kinetograph.intra_kernel.cuda import include_dir

SOURCE = Path(__file__).with_name("kernels.cu")


@cache
def by_nvcc(records: int, capability: int) -> bytes:
    """With the header found in a folder."""
    nvcc = tool("nvcc")
    with TemporaryDirectory() as folder:
        target = Path(folder, "kernels.cubin")
        command = [nvcc, "-cubin", SOURCE, "-o", target, *options_for(records, capability)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "warning" not in done.stderr
        return target.read_bytes()


@cache
def by_nvrtc(records: int, capability: int, *options: str) -> bytes:
    return compile_text(SOURCE.read_text(), *options_for(records, capability), *options)


def options_for(records: int, capability: int) -> list[str]:
    return [f"-arch=sm_{capability}", f"-DRECORDS={records}", f"-I{include_dir()}"]


def compile_text(text: str, *options: str) -> bytes:
    """A cubin, by NVRTC."""
    library = _nvrtc()
    program = ctypes.c_void_p()
    _check(library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None))
    words = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    code = library.nvrtcCompileProgram(program, len(options), words)
    log = _text_of(program, "ProgramLog").decode()
    assert code == 0, log
    assert "warning" not in log
    return _text_of(program, "CUBIN")


def _text_of(program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check(getattr(_nvrtc(), f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    text = ctypes.create_string_buffer(size.value)
    _check(getattr(_nvrtc(), f"nvrtcGet{what}")(program, text))
    return text.raw


def _check(code: int) -> None:
    assert code == 0, f"NVRTC returned {code}"


@cache
def _nvrtc() -> Any:
    found = in_wheels("lib/libnvrtc.so.*")
    if not found:
        pytest.skip("no NVRTC")
    # It looks for these by name only, and finds what is loaded.
    for path in found[0].parent.glob("libnvrtc-builtins.so.*"):
        ctypes.CDLL(str(path))
    return ctypes.CDLL(str(found[0]))


def tool(name: str) -> str:
    found = [*in_wheels(f"bin/{name}"), *filter(None, [shutil.which(name)])]
    if not found:
        pytest.skip(f"no {name}")
    return str(found[0])


def in_wheels(pattern: str) -> list[Path]:
    found = [path for place in sys.path for path in Path(place).glob(f"nvidia/*/{pattern}")]
    return [path for path in found if ".alt." not in path.name]

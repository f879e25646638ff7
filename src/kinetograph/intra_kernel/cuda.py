"""Records from inside CUDA C++ kernels, by whatever compiles them: nvcc, NVRTC, CuPy, PyTorch's extensions.

>>> from kinetograph.intra_kernel import cuda
>>> kernel = cupy.RawKernel(cuda.cuda_source() + SOURCE, "copy")

The header itself says how a kernel uses it; the rest here is for the host.
"""

from __future__ import annotations

from pathlib import Path

from kinetograph.intra_kernel.buffer import alloc_profiler_buffer, load_profiler_buffer, reset_profiler_buffer
from kinetograph.intra_kernel.exports import (
    ProfilerBuffer,
    export_to_perfetto_trace,
    set_export_trace_off,
    set_export_trace_on,
)

__all__ = [
    "ProfilerBuffer",
    "alloc_profiler_buffer",
    "cuda_source",
    "export_to_perfetto_trace",
    "include_dir",
    "load_profiler_buffer",
    "reset_profiler_buffer",
    "set_export_trace_off",
    "set_export_trace_on",
]


def include_dir() -> str:
    """The folder to be given to a compiler, for `#include <kinetograph/intra_kernel.cuh>`.

    >>> subprocess.run(["nvcc", "-I", include_dir(), "-arch=sm_90", "-cubin", "copy.cu"])
    """
    return str(Path(__file__).parent / "include")


def cuda_source() -> str:
    """The header's text, to stand before a kernel that is compiled from a string."""
    return Path(include_dir(), "kinetograph", "intra_kernel.cuh").read_text()

"""Records from inside Numba's CUDA kernels.

>>> from kinetograph.intra_kernel.numba import ProfilerBuffer, create_profiler, mark, record

The last three are device functions and need Numba with CUDA; the rest is for the host.
"""

from __future__ import annotations

from kinetograph.errors import NotAvailable
from kinetograph.hints import Any
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
    "create_profiler",  # noqa: F822  (by `__getattr__`)
    "export_to_perfetto_trace",
    "load_profiler_buffer",
    "mark",  # noqa: F822
    "record",  # noqa: F822
    "reset_profiler_buffer",
    "set_export_trace_off",
    "set_export_trace_on",
]


def __getattr__(name: str) -> Any:
    """Numba takes a while to import, and the host's side does without."""
    if name not in ("create_profiler", "mark", "record"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from kinetograph.intra_kernel import numba_device
    except ImportError as error:
        raise NotAvailable(
            f"intra_kernel.numba.{name} needs Numba with CUDA: {error}", hint="pip install 'numba-cuda[cu13]'"
        ) from None
    return getattr(numba_device, name)

"""Records from inside Triton kernels.

>>> from kinetograph.intra_kernel.triton import Profiler, ProfilerBuffer, tid

`Profiler` and `tid` are for kernels and need Triton, 3.6 or newer; the rest is for the host.
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
    "Profiler",  # noqa: F822, found when asked for
    "ProfilerBuffer",
    "alloc_profiler_buffer",
    "export_to_perfetto_trace",
    "load_profiler_buffer",
    "reset_profiler_buffer",
    "set_export_trace_off",
    "set_export_trace_on",
    "tid",  # noqa: F822
]


def __getattr__(name: str) -> Any:
    """Triton takes a second to import, and the host's side does without."""
    if name not in ("Profiler", "tid"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from triton import knobs
    except ImportError:
        raise NotAvailable(
            f"intra_kernel.triton.{name} needs Triton 3.6 or newer, which is not installed",
            hint="pip install triton",
        ) from None
    from importlib import import_module

    where = "triton_interpreted" if knobs.runtime.interpret else "triton_device"
    return getattr(import_module(f"kinetograph.intra_kernel.{where}"), name)

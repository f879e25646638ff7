"""Records from inside Triton kernels. Not here yet: its public names say so when they are fetched."""

from __future__ import annotations

from kinetograph.errors import NotAvailable

__all__: list[str] = []

_NAMES = {
    "Profiler",
    "ProfilerBuffer",
    "alloc_profiler_buffer",
    "export_to_perfetto_trace",
    "reset_profiler_buffer",
    "set_export_trace_off",
    "set_export_trace_on",
    "tid",
}


def __getattr__(name: str) -> object:
    if name in _NAMES:
        raise NotAvailable(
            f"intra_kernel.triton.{name} is not available yet: it comes with the intra-kernel part",
            hint="kg.scope around the launch records the host's side today",
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

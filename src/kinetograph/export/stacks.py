"""Folded stacks, `.folded`: a line per path of calls, which flamegraph.pl, speedscope and inferno read."""

from __future__ import annotations

from os import PathLike

from kinetograph.checks import path_text
from kinetograph.errors import UsageError
from kinetograph.export.replacing import replacing
from kinetograph.trace import Trace

__all__ = ["STACK_METRICS", "export_stacks", "save"]

_DEVICE = 1
# The number is format::FoldedMetric.
STACK_METRICS = {
    "self_cpu_time_total": 0,
    "self_device_time_total": _DEVICE,
    "self_cuda_time_total": _DEVICE,
    "self_xpu_time_total": _DEVICE,
    "self_privateuse1_time_total": _DEVICE,
    "count": 2,
}


def export_stacks(
    trace: Trace,
    path: str | PathLike[str],
    metric: str = "self_cpu_time_total",
    *,
    include_python: bool = True,
) -> None:
    """Write `outer;inner 1234` for each path: Python functions, scopes and operators, merged over threads.

    >>> export_stacks(trace, "gpu.folded", "self_device_time_total")

    Times are microseconds. Those of devices have the kernel at the end of the path that launched it.
    """
    if metric not in STACK_METRICS:
        raise UsageError(
            f"metric: expected a name, got {metric!r}", hint=f"the metrics are {', '.join(STACK_METRICS)}"
        )
    with replacing(path_text("path", path)) as file:
        trace.native.write_folded(file.fileno(), metric=STACK_METRICS[metric], with_python=include_python)


def save(trace: Trace, path: str | PathLike[str]) -> None:
    """What `trace.save("x.folded")` does: where the host spent its time."""
    export_stacks(trace, path)

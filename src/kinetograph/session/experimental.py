"""The switches that PyTorch calls experimental, field for field as in PyTorch 2.13, and then our own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from kinetograph.checks import require_bools, require_choice, require_text, text_tuple
from kinetograph.session.values import Value

__all__ = ["ExperimentalConfig"]


class ExperimentalConfig(Value):
    """Options that may change from one release to the next.

    True in a condition when it asks for hardware metrics, as in Kineto: they replace the usual activities.

    `cuda_graphs="launches"` records each launch of a CUDA graph as one event, and not each of its nodes: less
    to record, and less for the GPU to do.
    """

    profiler_metrics: Sequence[str] = ()
    profiler_measure_per_kernel: bool = False
    verbose: bool = False
    performance_events: Sequence[str] = ()
    enable_cuda_sync_events: bool = False
    adjust_profiler_step: bool = False
    disable_external_correlation: bool = False
    profile_all_threads: bool = False
    capture_overload_names: bool = False
    record_python_gc_info: bool = False
    expose_kineto_event_metadata: bool = False
    custom_profiler_config: str = ""
    adjust_timestamps: bool = False
    trace_only: bool = False
    cuda_graphs: Literal["nodes", "launches"] = "nodes"

    def __post_init__(self) -> None:
        for name in ("profiler_metrics", "performance_events"):
            object.__setattr__(self, name, text_tuple(name, getattr(self, name)))
        require_text("custom_profiler_config", self.custom_profiler_config)
        require_choice("cuda_graphs", self.cuda_graphs, ("nodes", "launches"))
        require_bools(self)

    def __bool__(self) -> bool:
        return bool(self.profiler_metrics)

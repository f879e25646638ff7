"""The switches that PyTorch calls experimental, field for field as in PyTorch 2.13, and then our own."""

from __future__ import annotations

from collections.abc import Sequence

from kinetograph.checks import require_bools, require_choice, require_int, require_text, text_tuple
from kinetograph.errors import UsageError
from kinetograph.hints import Literal
from kinetograph.session.values import Value

__all__ = ["ExperimentalConfig"]

# Each sample costs the thread that reads it some microseconds.
_SHORTEST_INTERVAL_NS = 10_000
_LONGEST_INTERVAL_NS = 1_000_000_000


class ExperimentalConfig(Value):
    """Options that may change from one release to the next.

    True in a condition when it asks for hardware metrics, as in Kineto: they replace the usual activities.

    `cuda_graphs="launches"` shows each launch of a CUDA graph as one event, and not each of its nodes.

    `pm_sampling_metrics` are hardware counters that GPUs read themselves every `pm_sampling_interval_ns`,
    beside whatever else is recorded.
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
    pm_sampling_metrics: Sequence[str] = ()
    pm_sampling_interval_ns: int = 100_000

    def __post_init__(self) -> None:
        for name in ("profiler_metrics", "performance_events", "pm_sampling_metrics"):
            object.__setattr__(self, name, text_tuple(name, getattr(self, name)))
        require_text("custom_profiler_config", self.custom_profiler_config)
        require_choice("cuda_graphs", self.cuda_graphs, ("nodes", "launches"))
        require_bools(self)
        self._check_metrics()
        self._check_sampling()

    def _check_metrics(self) -> None:
        for metric in (*self.profiler_metrics, *self.pm_sampling_metrics):
            if not (metric and metric.isascii() and metric.isprintable()):
                example = "sm__cycles_active.avg"
                raise UsageError(f"{metric!r} is no name of a metric", hint=f"names are like {example}")

    def _check_sampling(self) -> None:
        interval_ns = require_int(
            "pm_sampling_interval_ns",
            self.pm_sampling_interval_ns,
            _SHORTEST_INTERVAL_NS,
            _LONGEST_INTERVAL_NS,
            hint="100_000 samples ten times a millisecond",
        )
        object.__setattr__(self, "pm_sampling_interval_ns", interval_ns)
        if self.pm_sampling_metrics and self.profiler_metrics:
            raise UsageError(
                "pm_sampling_metrics and profiler_metrics cannot be had together: both need the counters",
                hint="sample in one session, and measure kernels or scopes in another",
            )

    def __bool__(self) -> bool:
        return bool(self.profiler_metrics)

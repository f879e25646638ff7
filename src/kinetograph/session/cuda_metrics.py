"""Hardware metrics of GPUs for one session: counted once per kernel, or once per scope."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from kinetograph import _native
from kinetograph.errors import KinetographError
from kinetograph.session import observer
from kinetograph.session.cuda import torch_is_capturing
from kinetograph.session.cuda_library import cupti_libraries
from kinetograph.session.metric_errors import MetricOption, require_metrics

__all__ = ["CudaMetrics"]

_METRICS = MetricOption(
    "profiler_metrics",
    one_pass="a scope runs once",
    fewer="ask for fewer per session, or for profiler_measure_per_kernel=True, which repeats kernels",
)


class CudaMetrics:
    """The counters while a session runs. Whatever is wrong with them is raised when this is made.

    They replace the records of CUDA, as in Kineto: what is measured runs alone, perhaps many times, so that
    its times would mislead. Nothing is counted before `resume`.
    """

    counts = True
    samples_counters = False
    synchronization = False
    memory = False
    times_scopes = False
    has_given_up = False

    def __init__(self, metrics: Sequence[str], *, per_kernel: bool) -> None:
        require_metrics(_METRICS, _native.open_metrics(list(metrics), per_kernel, cupti_libraries()))
        self._per_kernel = per_kernel
        self._open: observer.RecordFunction | None = None
        self._scopes_seen = 0
        # Those of this thread: work of others at the same time cannot be told apart.
        self._callback = None if per_kernel else observer.add_thread_local_callback(self._begin, self._end)

    def resume(self) -> None:
        _native.resume_metrics()

    def pause(self) -> None:
        """Tell what was counted since `resume`. Waits for what the GPU is still doing, if that may be."""
        _native.pause_metrics(may_wait=not torch_is_capturing())

    def release(self) -> None:
        if self._callback is not None:
            with suppress(KinetographError):  # it is gone: an interrupt came behind that
                observer.remove_callback(self._callback)
            self._callback = None
        _native.close_metrics()

    def notes(self) -> Iterator[str]:
        """A sentence for the trace, if there was nothing to measure."""
        if not self._per_kernel and not self._scopes_seen:
            yield (
                "profiler_metrics are measured per scope, and this thread began none; "
                "profiler_measure_per_kernel=True measures every kernel"
            )

    def _begin(self, function: observer.RecordFunction) -> observer.RecordFunction | None:
        """Scopes within one that is measured, and those that overlap it, are not: counters do not nest."""
        if self._open is not None:
            return None
        self._open = function
        self._scopes_seen += 1
        _native.begin_metric_range(function.name)
        return function

    def _end(self, _function: observer.RecordFunction, begun: Any) -> None:
        if begun is not None:
            self._open = None
            _native.end_metric_range()

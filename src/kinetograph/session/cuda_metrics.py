"""Hardware metrics of GPUs for one session: counted once per kernel, or once per scope."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kinetograph import _native
from kinetograph.errors import KinetographError, NotAvailable, StateError, UsageError
from kinetograph.session import observer
from kinetograph.session.cuda_library import COUNTER_PERMISSION, cupti_libraries

__all__ = ["CudaMetrics"]

# Numbers of native/collect/cupti/metrics.h.
_NONE, _NO_CONTEXT, _IN_USE, _UNSUPPORTED, _UNKNOWN_METRIC, _TOO_MANY_PASSES, _NO_PERMISSION = range(7)


class CudaMetrics:
    """The counters while a session runs. Whatever is wrong with them is raised when this is made.

    They replace the records of CUDA, as in Kineto: what is measured runs alone, perhaps many times, so that
    its times would mislead. Nothing is counted before `resume`.
    """

    counts = True
    synchronization = False
    memory = False
    times_scopes = False

    def __init__(self, metrics: Sequence[str], *, per_kernel: bool) -> None:
        answer = _native.open_metrics(list(metrics), per_kernel, cupti_libraries())
        if answer[0] != _NONE:
            raise _error(*answer)
        self._per_kernel = per_kernel
        self._open: observer.RecordFunction | None = None
        self._scopes_seen = 0
        # Those of this thread: work of others at the same time cannot be told apart.
        self._callback = None if per_kernel else observer.add_thread_local_callback(self._begin, self._end)

    def resume(self) -> None:
        _native.resume_metrics()

    def pause(self) -> None:
        """Tell what was counted since `resume`. Waits for what the GPU is still doing."""
        _native.pause_metrics()

    def release(self) -> None:
        if self._callback is not None:
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


def _error(
    problem: int, text: str, metrics: list[str], candidates: list[list[str]], passes: list[int]
) -> KinetographError:
    if problem == _UNKNOWN_METRIC:
        return _unknown(metrics, candidates)
    if problem == _TOO_MANY_PASSES:
        return _too_many_passes(text, metrics, passes)
    make: Callable[..., KinetographError] = StateError if problem in (_NO_CONTEXT, _IN_USE) else NotAvailable
    hints = {
        _NO_CONTEXT: "do something on the GPU before the session starts, such as torch.zeros(1).cuda()",
        _IN_USE: "end the other one first",
        _UNSUPPORTED: "kinetograph doctor says what is there",
        _NO_PERMISSION: COUNTER_PERMISSION,
    }
    return make(f"profiler_metrics cannot be measured: {text}", hint=hints[problem])


def _unknown(metrics: list[str], candidates: list[list[str]]) -> KinetographError:
    near = [name for metric, known in zip(metrics, candidates, strict=True) for name in _near(metric, known)]
    hint = f"near to that: {', '.join(near)}" if near else "ncu --query-metrics lists all names"
    return UsageError(f"profiler_metrics: this GPU has no {', '.join(metrics)}", hint=hint)


def _near(metric: str, known: list[str]) -> list[str]:
    """Whole names where the begin is right, else begins."""
    base = metric.partition(".")[0]
    wanted = metric if any("." in name for name in known) else base
    return difflib.get_close_matches(wanted, known, n=3, cutoff=0.5)


def _too_many_passes(passes: str, metrics: list[str], each: list[int]) -> KinetographError:
    counts = ", ".join(f"{metric} ({count})" for metric, count in zip(metrics, each, strict=True))
    return UsageError(
        f"profiler_metrics: these need the GPU to run everything {passes} times, and a scope runs once; "
        f"passes of each alone: {counts}",
        hint="ask for fewer per session, or for profiler_measure_per_kernel=True, which repeats kernels",
    )

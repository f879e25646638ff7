"""Hardware counters of GPUs on a time grid, for one session and beside its records of CUDA."""

from __future__ import annotations

import atexit
from collections.abc import Sequence

from kinetograph import _native
from kinetograph.session.metric_errors import MetricOption, require_metrics

__all__ = ["PM_SAMPLING", "CounterSamples"]

PM_SAMPLING = MetricOption(
    "pm_sampling_metrics",
    one_pass="what is sampled runs once",
    fewer="leave out those that take several, and ask for fewer per session",
)


class CounterSamples:
    """The sampling while a session runs. Whatever is wrong with it is raised when this is made.

    CUPTI must be ours by then. Nothing is sampled before `resume`.
    """

    def __init__(self, metrics: Sequence[str], *, interval_ns: int) -> None:
        require_metrics(PM_SAMPLING, _native.open_sampling(list(metrics), interval_ns))

    def resume(self) -> None:
        _native.resume_sampling()

    def pause(self) -> None:
        """Bring in what was sampled since `resume`."""
        _native.pause_sampling()

    def release(self) -> None:
        _native.close_sampling()


@atexit.register
def _end_with_the_program() -> None:
    """A session may go on until the process is gone, but a thread must not use CUDA while that goes."""
    _native.pause_sampling()
    _native.close_sampling()

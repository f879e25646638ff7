"""libkineto's activity types, and which of them each group of activities selects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kinetograph.kineto.switches import collectives_profiler_exists, get_cuda_sync_enabled
from kinetograph.session import config as session
from kinetograph.session.activity_types import TYPE_NAMES
from kinetograph.trace.words import Word

__all__ = [
    "CPU_TYPES",
    "CUDA_TYPES",
    "HPU_TYPES",
    "MTIA_TYPES",
    "PRIVATEUSE1_TYPES",
    "XPU_TYPES",
    "ActivityType",
    "activity_types",
]


class ActivityType(Word):
    """What one activity is, in libkineto's words and with its numbers (those of PyTorch 2.13)."""

    CPU_OP = 0
    USER_ANNOTATION = 1
    GPU_USER_ANNOTATION = 2
    GPU_MEMCPY = 3
    GPU_MEMSET = 4
    CONCURRENT_KERNEL = 5
    EXTERNAL_CORRELATION = 6
    CUDA_RUNTIME = 7
    CUDA_DRIVER = 8
    CPU_INSTANT_EVENT = 9
    PYTHON_FUNCTION = 10
    OVERHEAD = 11
    MTIA_RUNTIME = 12
    MTIA_CCP_EVENTS = 13
    MTIA_INSIGHT = 14
    CUDA_SYNC = 15
    CUDA_EVENT = 16
    MTIA_COUNTERS = 17
    GLOW_RUNTIME = 18
    CUDA_PROFILER_RANGE = 19
    HPU_OP = 20
    XPU_RUNTIME = 21
    XPU_DRIVER = 22
    COLLECTIVE_COMM = 23
    PRIVATEUSE1_RUNTIME = 24
    PRIVATEUSE1_DRIVER = 25
    XPU_SCOPE_PROFILER = 26
    # Newer than PyTorch 2.13: in libkineto's main branch.
    XPU_SYNC = 27
    HARDWARE_COUNTERS = 28
    # libkineto gave this one up for MTIA_INSIGHT, and its number to another. Old traces still have it.
    MTIA_WORKLOADD = 255

    @property
    def category(self) -> str:
        """The word for it in a trace: `kernel` for CONCURRENT_KERNEL, its own name for all others."""
        return "kernel" if self is ActivityType.CONCURRENT_KERNEL else self.name.lower()


_TYPES_OF: Mapping[session.ActivityType, frozenset[ActivityType]] = {
    activity: frozenset(ActivityType[name] for name in names) for activity, names in TYPE_NAMES.items()
}
CPU_TYPES = _TYPES_OF[session.ActivityType.CPU]
CUDA_TYPES = _TYPES_OF[session.ActivityType.CUDA]
XPU_TYPES = _TYPES_OF[session.ActivityType.XPU]
MTIA_TYPES = _TYPES_OF[session.ActivityType.MTIA]
HPU_TYPES = _TYPES_OF[session.ActivityType.HPU]
PRIVATEUSE1_TYPES = _TYPES_OF[session.ActivityType.PRIVATEUSE1]


def activity_types(
    activities: Iterable[session.ActivityType], config: session.ExperimentalConfig
) -> frozenset[ActivityType]:
    """The types that a trace of these groups shall hold.

    Hardware metrics replace everything else: then only the measured ranges are recorded, and the host's side
    if each kernel is measured by itself.
    """
    asked = frozenset(activities)
    if config:
        return _metric_types(asked, config)
    selected = frozenset().union(*(_TYPES_OF[activity] for activity in asked))
    if session.ActivityType.CUDA in asked and (config.enable_cuda_sync_events or get_cuda_sync_enabled()):
        selected |= {ActivityType.CUDA_SYNC}
    if collectives_profiler_exists():
        selected |= {ActivityType.COLLECTIVE_COMM}
    return selected


def _metric_types(
    asked: frozenset[session.ActivityType], config: session.ExperimentalConfig
) -> frozenset[ActivityType]:
    ranges = frozenset({ActivityType.CUDA_PROFILER_RANGE})
    with_host = session.ActivityType.CPU in asked and config.profiler_measure_per_kernel
    return ranges | CPU_TYPES if with_host else ranges

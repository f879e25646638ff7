"""Numbers of event categories, as native/record/event.h has them, and which of them a session wants."""

from __future__ import annotations

from collections.abc import Set

from kinetograph.session.activity import ActivityType

__all__ = [
    "ALL",
    "COUNTER",
    "CPU_INSTANT_EVENT",
    "CPU_OP",
    "CUDA_PROFILER_RANGE",
    "EXTERNAL_CORRELATION",
    "HARDWARE_COUNTERS",
    "INTRA_KERNEL",
    "KERNEL",
    "PYTHON_FUNCTION",
    "USER_ANNOTATION",
    "wanted_categories",
]

CPU_OP = 0
USER_ANNOTATION = 1
KERNEL = 4
EXTERNAL_CORRELATION = 5
CPU_INSTANT_EVENT = 8
PYTHON_FUNCTION = 9
CUDA_PROFILER_RANGE = 18
HARDWARE_COUNTERS = 27
INTRA_KERNEL = 29
COUNTER = 31
ANNOTATION = 32

ALL = (1 << 64) - 1

# What is there only for ActivityType.CPU. Calls into a runtime are not: they come with their device too.
_OF_THE_HOST = (
    CPU_OP,
    USER_ANNOTATION,
    EXTERNAL_CORRELATION,
    CPU_INSTANT_EVENT,
    PYTHON_FUNCTION,
    COUNTER,
    ANNOTATION,
)


def wanted_categories(
    activities: Set[ActivityType],
    *,
    with_calls: bool = True,
    with_metrics: bool = True,
    with_samples: bool = True,
) -> int:
    """A bit for each category that belongs into the trace of a session with these activities.

    Events that the program reports of its devices are kept with any activity: reporting them is asking.
    """
    if not activities:
        return 0
    unwanted = set(_OF_THE_HOST) if ActivityType.CPU not in activities else set()
    if not with_calls:
        unwanted.add(PYTHON_FUNCTION)
    if not with_metrics:
        unwanted.add(CUDA_PROFILER_RANGE)
    if not with_samples:
        unwanted.add(HARDWARE_COUNTERS)
    return ALL & ~sum(1 << category for category in unwanted)

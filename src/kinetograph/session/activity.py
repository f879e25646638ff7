"""What to profile: the groups of activities that a session may ask for, and what there is to use here."""

from __future__ import annotations

from collections.abc import Iterable

from kinetograph.hints import TYPE_CHECKING
from kinetograph.session.cuda_library import why_missing
from kinetograph.session.members import members_of
from kinetograph.trace.words import Word

if TYPE_CHECKING:
    from kinetograph.session.features import Feature

__all__ = [
    "ActivityType",
    "ProfilerActivity",
    "activity_set",
    "features",
    "kineto_available",
    "supported_activities",
]


class ActivityType(Word):
    """Where the events come from; the numbers are PyTorch's."""

    CPU = 0
    XPU = 1
    CUDA = 2
    HPU = 3
    MTIA = 4
    PRIVATEUSE1 = 5
    PrivateUse1 = 5  # PyTorch's spelling of the same member


ProfilerActivity = ActivityType


def supported_activities() -> frozenset[ActivityType]:
    """The activities that can be recorded here, and are when a session names none."""
    cuda = {ActivityType.CUDA} if why_missing() is None else set()
    return frozenset({ActivityType.CPU, *cuda})


def kineto_available() -> bool:
    """Always: what PyTorch may have been built without is all that Kinetograph is."""
    return True


def features() -> tuple[Feature, ...]:
    """The table of everything Kinetograph can use here.

    >>> {feature.name for feature in kg.features() if feature.is_available}
    {'python', 'native core', 'clock'}
    """
    # Here, for the named tuple of its rows would cost every program a millisecond.
    from kinetograph.session import features as table

    return table.features()


def activity_set(activities: Iterable[object] | None) -> frozenset[ActivityType]:
    """Our members for those asked for: ours, PyTorch's, or their names. None means all supported here."""
    if activities is None:
        return supported_activities()
    return members_of(ActivityType, activities, what="activities")

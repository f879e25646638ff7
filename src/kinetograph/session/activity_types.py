"""Which types of events belong to which activity, and how a session chooses among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kinetograph import _native
from kinetograph.checks import require_iterable, text_tuple
from kinetograph.errors import UsageError
from kinetograph.session.activity import ActivityType, supported_activities
from kinetograph.session.categories import ALL
from kinetograph.session.members import member_of

__all__ = ["TYPE_NAMES", "chosen_activities", "chosen_categories"]

_ON_DEVICES = "GPU_MEMCPY GPU_MEMSET GPU_USER_ANNOTATION CONCURRENT_KERNEL"

# libkineto's names. The calls into a runtime or driver run on the host, for a device: they stand with both.
TYPE_NAMES: Mapping[ActivityType, frozenset[str]] = {
    activity: frozenset(names.split())
    for activity, names in {
        ActivityType.CPU: "CPU_OP CPU_INSTANT_EVENT USER_ANNOTATION EXTERNAL_CORRELATION PYTHON_FUNCTION "
        "XPU_RUNTIME XPU_DRIVER CUDA_RUNTIME CUDA_DRIVER PRIVATEUSE1_RUNTIME PRIVATEUSE1_DRIVER",
        ActivityType.XPU: f"{_ON_DEVICES} XPU_RUNTIME XPU_DRIVER OVERHEAD",
        ActivityType.CUDA: f"{_ON_DEVICES} CUDA_RUNTIME CUDA_DRIVER OVERHEAD",
        ActivityType.HPU: "HPU_OP",
        ActivityType.MTIA: "MTIA_CCP_EVENTS MTIA_RUNTIME MTIA_INSIGHT MTIA_COUNTERS MTIA_WORKLOADD",
        ActivityType.PRIVATEUSE1: f"{_ON_DEVICES} PRIVATEUSE1_RUNTIME PRIVATEUSE1_DRIVER",
    }.items()
}

# Types that only we have: values of `kg.counter`.
_OWN_NAMES = {ActivityType.CPU: frozenset({"COUNTER"})}

_HINT = "for one write {ActivityType.CPU}, for some of its events {ActivityType.CPU: ['USER_ANNOTATION']}"

Filters = dict[ActivityType, frozenset[str]]


def chosen_activities(activities: object) -> tuple[frozenset[ActivityType], Filters]:
    """The activities, and for those that came as `{activity: [type, ...]}` the types to keep.

    PyTorch's form is a list of members and such dicts; one dict alone is taken as well.
    """
    if activities is None:
        return supported_activities(), {}
    require_iterable("activities", activities, "ActivityType", hint=_HINT)
    items: Iterable[object] = [activities] if isinstance(activities, Mapping) else activities  # type: ignore[assignment]
    chosen: list[ActivityType] = []
    filters: Filters = {}
    for item in items:
        for name, types in item.items() if isinstance(item, Mapping) else [(item, None)]:
            activity = member_of(ActivityType, name, what="activities")
            chosen.append(activity)
            if types is not None:
                filters[activity] = _known_types(activity, types)
    _require_unique(chosen)
    return frozenset(chosen), filters


def chosen_categories(activities: Iterable[ActivityType], filters: Filters) -> int:
    """A bit for each category that the filters leave; what belongs to no filtered activity stays."""
    kept = frozenset().union(
        *filters.values(), *(_names(activity) for activity in activities if activity not in filters)
    )
    dropped = frozenset().union(*map(_names, filters)) - kept
    numbers = {name: number for number, name in enumerate(_native.Trace().categories)}
    return ALL & ~sum(1 << numbers[_category(name)] for name in dropped)


def _names(activity: ActivityType) -> frozenset[str]:
    return TYPE_NAMES[activity] | _OWN_NAMES.get(activity, frozenset())


def _known_types(activity: ActivityType, types: object) -> frozenset[str]:
    named = frozenset(text_tuple(f"activities[{activity.name}]", types))
    unknown = sorted(named - _names(activity))
    if unknown:
        raise UsageError(
            f"activities[{activity.name}]: {', '.join(unknown)} is no type of event that belongs to it",
            hint=f"choose among {', '.join(sorted(_names(activity)))}",
        )
    return named


def _require_unique(chosen: list[ActivityType]) -> None:
    twice = sorted({activity.name for activity in chosen if chosen.count(activity) > 1})
    if twice:
        raise UsageError(
            f"activities: {', '.join(twice)} is there more than once", hint="name each activity once"
        )
    if not chosen:
        raise UsageError(
            "activities: expected one at least, got none", hint="leave activities out for all that is there"
        )


def _category(name: str) -> str:
    """The word of a trace for a type of libkineto's."""
    return "kernel" if name == "CONCURRENT_KERNEL" else name.lower()

"""When a profile records: `schedule`, and what has to happen between one step and the next."""

from __future__ import annotations

from collections.abc import Callable

from kinetograph.checks import require_int
from kinetograph.errors import UsageError, warn_program
from kinetograph.session.handover import call_program
from kinetograph.session.members import member_of
from kinetograph.trace.words import Word

__all__ = [
    "ProfilerAction",
    "Schedule",
    "asked_action",
    "complaint",
    "record_always",
    "schedule",
    "transition",
]

_MOST_STEPS = (1 << 62) - 1


class ProfilerAction(Word):
    """What a profile does during one step.

    DEVICE_STOPPED is not for schedules: it is what remains of a cycle whose device collector gave up.
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


Schedule = Callable[[int], object]

_NONE, _WARMUP = ProfilerAction.NONE, ProfilerAction.WARMUP
_RECORD, _SAVE, _STOPPED = (
    ProfilerAction.RECORD,
    ProfilerAction.RECORD_AND_SAVE,
    ProfilerAction.DEVICE_STOPPED,
)


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Record `active` steps, after `wait` steps of nothing and `warmup` steps whose events are not kept.

    >>> kg.profile(schedule=kg.schedule(wait=5, warmup=1, active=3, repeat=2), on_trace_ready=save)

    The cycle is repeated `repeat` times, or to the end of the program with 0. `skip_first` steps come before
    the first cycle, which has no `wait` if `skip_first_wait` is not 0.
    """
    counts = {"wait": wait, "warmup": warmup, "repeat": repeat, "skip_first": skip_first}
    for name, count in counts.items():
        require_int(name, count, 0, _MOST_STEPS, hint="a number of steps")
    require_int("active", active, 1, _MOST_STEPS, hint="a cycle records one step at least")
    if warmup == 0:
        warn_program("Profiler won't be using warmup, this can skew profiler results")
    length = wait + warmup + active
    first = skip_first - (wait if skip_first_wait else 0)

    def action_at(step: int) -> ProfilerAction:
        require_int("step", step, 0, _MOST_STEPS, hint="steps count from 0")
        cycle, position = divmod(step - first, length)
        if step < skip_first or (repeat and cycle >= repeat) or position < wait:
            return _NONE
        if position < wait + warmup:
            return _WARMUP
        return _SAVE if position == length - 1 else _RECORD

    return action_at


def record_always(step: int) -> ProfilerAction:
    """The schedule of a profile that was given none."""
    return _RECORD


def asked_action(schedule: Schedule, step: int) -> ProfilerAction:
    """What the program's schedule wants at this step."""
    action = member_of(ProfilerAction, call_program(schedule, step), what=f"schedule({step})")
    if action is _STOPPED:
        raise UsageError(
            f"schedule({step}) returned DEVICE_STOPPED, which only the profiler itself sets",
            hint="return NONE, WARMUP, RECORD or RECORD_AND_SAVE",
        )
    return action


def transition(before: ProfilerAction, after: ProfilerAction | None) -> tuple[str, ...]:
    """What to do between two steps, in order: `prepare`, `start`, `stop`, `ready`, `discard`.

    `after` is None when the profile itself ends.
    """
    return (*_leaving(before, after), *_entering(before, after))


def _leaving(before: ProfilerAction, after: ProfilerAction | None) -> tuple[str, ...]:
    if before is _SAVE or (before is _RECORD and after in (None, _STOPPED)):
        return ("stop", "ready")
    if before is _RECORD and after in (_NONE, _WARMUP):
        return ("stop",)
    if before is _WARMUP and after in (None, _NONE):
        return ("discard",)
    if before is _WARMUP and after is _STOPPED:
        # The cycle is over before it began; that it is over is still told.
        return ("start", "stop", "ready")
    return ()


def _entering(before: ProfilerAction, after: ProfilerAction | None) -> tuple[str, ...]:
    if after is _WARMUP and before is not _WARMUP:
        return ("prepare",)
    if after in (_RECORD, _SAVE):
        if before is _WARMUP:
            return ("start",)
        if before is not _RECORD:
            return ("prepare", "start")
    return ()


def complaint(before: ProfilerAction, after: ProfilerAction | None) -> str | None:
    """What is wrong with a schedule that goes from one to the other: events are recorded and lost."""
    if (before, after) in ((_WARMUP, _NONE), (_RECORD, _NONE), (_RECORD, _WARMUP)) and after is not None:
        return f"Incorrect schedule: {before.name} followed by {after.name}"
    return None

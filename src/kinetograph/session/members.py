"""One way to read an enum member, however it came: ours, its name, or PyTorch's member of that name."""

from __future__ import annotations

from enum import Enum

from kinetograph.checks import require_iterable, spelled
from kinetograph.errors import ArgumentError, UsageError
from kinetograph.hints import TypeVar
from kinetograph.trace.words import torch_member_name

__all__ = ["member_of", "members_of"]

EnumT = TypeVar("EnumT", bound=Enum)


def member_of(kind: type[EnumT], value: object, *, what: str) -> EnumT:
    """The member of `kind` that `value` means.

    >>> member_of(ActivityType, torch.profiler.ProfilerActivity.CUDA, what="activities")
    <ActivityType.CUDA: 2>
    """
    if isinstance(value, kind):
        return value
    name = value if isinstance(value, str) else torch_member_name(kind, value)
    for spelling, member in kind.__members__.items():
        if name is not None and spelling.upper() == name.upper():
            return member
    error = UsageError if isinstance(value, str) else ArgumentError
    raise error(
        f"{what}: expected a member of {kind.__name__}, got {spelled(value)}",
        hint=f"one of {', '.join(member.name for member in kind)}",
    )


def members_of(kind: type[EnumT], values: object, *, what: str) -> frozenset[EnumT]:
    """The members of `kind` that a set or list of them means."""
    some = next(iter(kind)).name
    require_iterable(what, values, kind.__name__, hint=f"for one write {{{kind.__name__}.{some}}}")
    return frozenset(member_of(kind, value, what=what) for value in values)  # type: ignore[attr-defined]

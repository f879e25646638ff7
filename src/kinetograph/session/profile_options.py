"""What a profile was asked for, checked and put together: the plan of its cycles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from kinetograph.checks import require_bool, require_instance
from kinetograph.errors import NotAvailable
from kinetograph.session.activity import ActivityType
from kinetograph.session.activity_types import chosen_activities, chosen_categories
from kinetograph.session.availability import require_available
from kinetograph.session.config import ExperimentalConfig, ProfilerConfig, RecordOptions
from kinetograph.trace.words import is_torchs

__all__ = ["Plan", "experimental_options", "made_plan", "recording_options", "refuse_later_options"]

_LATER: Mapping[str, str] = {
    "profile_memory": "allocations of the host come with the memory part",
}


class Plan:
    """What every cycle of a profile records."""

    def __init__(
        self, config: ProfilerConfig, activities: frozenset[ActivityType], categories: int, all_threads: bool
    ) -> None:
        self.config = config
        self.activities = activities
        self.categories = categories
        """A bit for each that may be in the trace."""
        self.all_threads = all_threads


def made_plan(
    config: ProfilerConfig, activities: Iterable[object] | None, use_cuda: bool | None, all_threads: bool
) -> Plan:
    """Raises if something of it is wrong, or cannot be recorded here."""
    require_bool("all_threads", all_threads)
    chosen, filters = chosen_activities(activities)
    if use_cuda is not None:
        require_bool("use_cuda", use_cuda)
        cuda = {ActivityType.CUDA}
        chosen = chosen | cuda if use_cuda else chosen - cuda
    if ActivityType.CUDA not in chosen:
        refuse_later_options(profile_memory=config.profile_memory)
    require_available(config, chosen)
    return Plan(config, chosen, chosen_categories(chosen, filters), all_threads)


def refuse_later_options(**options: object) -> None:
    for name, value in options.items():
        if value:
            raise NotAvailable(f"{name} is not available here: {_LATER[name]}", hint=f"leave {name} out")


def experimental_options(config: Any) -> ExperimentalConfig:
    """Ours; PyTorch's object, whose state are its fields in the order we have them, is taken as well."""
    if config is None:
        return ExperimentalConfig()
    kind = type(config)
    if kind.__name__ == "_ExperimentalConfig" and is_torchs(kind):
        return ExperimentalConfig(*map(_decoded, _in_order(config.__getstate__())))
    require_instance("experimental_config", config, ExperimentalConfig)
    options: ExperimentalConfig = config
    return options


def _in_order(state: Sequence[Any]) -> list[Any]:
    """PyTorch 2.8 and older has the events, which are fourth among its arguments, at the end."""
    values = list(state)
    if isinstance(values[-1], list):
        values.insert(3, values.pop())
    return values


def _decoded(value: Any) -> Any:
    """What C++ holds as a list of strings, newer versions of torch give as a list of bytes."""
    if not isinstance(value, list):
        return value
    return [text.decode() if isinstance(text, bytes) else text for text in value]


def recording_options(
    recording: RecordOptions | None, mode: Literal["record", "ring"] | None, ring_seconds: float | None
) -> RecordOptions:
    """`mode` and `ring_seconds` are short for what `recording` may say; said twice, they win."""
    options = RecordOptions() if recording is None else recording
    require_instance("recording", options, RecordOptions)
    changes: dict[str, Any] = {"mode": mode, "ring_seconds": ring_seconds}
    return options.replace(**{name: value for name, value in changes.items() if value is not None})

"""The small values that PyTorch's events are made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = [
    "Arrow",
    "EventMetadata",
    "Interval",
    "Kernel",
    "Totals",
    "event_metadata",
    "input_value",
    "keyword_inputs",
    "kineto_texts",
]


class Interval(NamedTuple):
    """Microseconds since the trace began."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        return self.end - self.start


class Totals(NamedTuple):
    """What shares are shares of: each moment of the host, and each of a device, counted once."""

    cpu_ns: int
    device_ns: int


class Arrow(NamedTuple):
    """One end of an arrow from a forward operator to its backward one."""

    id: int
    """Both ends have it."""
    is_start: bool


class Kernel(NamedTuple):
    """Work on a device that an event launched."""

    name: str
    device: int
    duration: float
    """Microseconds."""


class EventMetadata(NamedTuple):
    """What was recorded about a kernel, a copy or a collective; None where it was not."""

    registers_per_thread: int | None = None
    shared_memory: int | None = None
    grid: list[int] | None = None
    block: list[int] | None = None
    priority: int | None = None
    blocks_per_sm: float | None = None
    warps_per_sm: float | None = None
    occupancy: dict[str, Any] | None = None
    est_occupancy_pct: float | None = None
    queued: int | None = None
    graph_id: int | None = None
    graph_node_id: int | None = None
    stream: int | None = None
    context: int | None = None
    channel: int | None = None
    channel_type: int | None = None
    bytes: int | None = None
    bandwidth_gb_s: float | None = None
    collective_name: str | None = None
    dtype: str | None = None
    in_msg_nelems: int | None = None
    out_msg_nelems: int | None = None
    in_split_size: str | None = None
    out_split_size: str | None = None
    global_rank_start: int | None = None
    global_rank_stride: int | None = None
    group_size: int | None = None
    process_group_name: str | None = None
    process_group_desc: str | None = None
    group_ranks: str | None = None
    rank: int | None = None
    src_rank: int | None = None
    dst_rank: int | None = None
    seq: int | None = None
    is_async: bool | None = None


# Kineto's names of those that are not spelled as the field with blanks.
_KINETO_NAMES = {
    "blocks_per_sm": "blocks per SM",
    "warps_per_sm": "warps per SM",
    "est_occupancy_pct": "est. achieved occupancy %",
    "channel_type": "channel_type",
    "bandwidth_gb_s": "memory bandwidth (GB/s)",
    "collective_name": "Collective name",
    "in_msg_nelems": "In msg nelems",
    "out_msg_nelems": "Out msg nelems",
    "in_split_size": "In split size",
    "out_split_size": "Out split size",
    "global_rank_start": "Global rank start",
    "global_rank_stride": "Global rank stride",
    "group_size": "Group size",
    "process_group_name": "Process Group Name",
    "process_group_desc": "Process Group Description",
    "group_ranks": "Process Group Ranks",
    "rank": "Rank",
    "src_rank": "Src Rank",
    "dst_rank": "Dst Rank",
    "seq": "Seq",
    "is_async": "Is asynchronized op",
}


def _kineto_name(field: str) -> str:
    return _KINETO_NAMES.get(field, field.replace("_", " "))


_OF_COLLECTIVES = EventMetadata._fields[EventMetadata._fields.index("collective_name") :]
# What else is told of operators.
_NO_KEYWORDS = {
    "Call stack",
    "Concrete Inputs",
    "Fwd thread id",
    "Input Dims",
    "Input Strides",
    "Input type",
    "Module Hierarchy",
    "Overload name",
    "Python module id",
    "backend",
    "flops",
    *map(_kineto_name, _OF_COLLECTIVES),
}


def event_metadata(args: Mapping[str, Any]) -> EventMetadata | None:
    """From the arguments of an event; None when they hold nothing of it."""
    names = ((field, _kineto_name(field)) for field in EventMetadata._fields)
    found = {field: args[name] for field, name in names if name in args}
    return EventMetadata(**found) if found else None


def kineto_texts(args: Mapping[str, Any]) -> dict[str, str]:
    """The same under Kineto's names, as texts."""
    names = (_kineto_name(field) for field in EventMetadata._fields)
    return {name: _text(args[name]) for name in names if name in args}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def keyword_inputs(args: Mapping[str, Any]) -> dict[str, Any]:
    """What an operator was called with by name: all that nobody else tells of one."""
    return {name: value for name, value in args.items() if name not in _NO_KEYWORDS}


def input_value(text: object) -> Any:
    """
    >>> input_value("1e-05"), input_value("True"), input_value("[2, -3]"), input_value("")
    (1e-05, True, [2, -3], None)
    """
    if not isinstance(text, str):
        return text
    if text.startswith("[") and text.endswith("]"):
        return [_scalar(part) for part in text[1:-1].split(", ") if part]
    return _scalar(text) if text else None


def _scalar(text: str) -> bool | int | float | complex | str:
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float, complex):
        try:
            return kind(text)
        except ValueError:
            continue
    return text

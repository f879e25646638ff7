"""Rows of the small tables of a trace. Apart, for named tuples take a millisecond to define."""

from __future__ import annotations

from typing import NamedTuple

from kinetograph.trace.words import DeviceType

__all__ = ["Note", "Process", "Track"]


class Note(NamedTuple):
    """Something that was lost, is in doubt, or is worth knowing about the recording."""

    kind: str
    text: str


class Process(NamedTuple):
    """A process, or a device."""

    pid: int | str
    name: str
    labels: str


class Track(NamedTuple):
    """A thread, a lane of a thread (an asyncio task), or a stream of a device."""

    process: Process
    tid: int | str
    name: str
    parent: int | None
    """For a lane, the index of its thread's track."""
    device_type: DeviceType
    device_index: int

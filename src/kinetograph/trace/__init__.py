"""What was recorded: traces, their events, and how to load them."""

from __future__ import annotations

from kinetograph.hints import TYPE_CHECKING, Any
from kinetograph.trace.event import Event, KinetoEvent
from kinetograph.trace.load import load
from kinetograph.trace.trace import Trace
from kinetograph.trace.words import DeviceType, EventFlag, EventKind, RecordScope

if TYPE_CHECKING:
    from kinetograph.trace.tables import Note, Process, Track
else:

    def __getattr__(name: str) -> Any:
        if name not in ("Note", "Process", "Track"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from kinetograph.trace import tables

        return getattr(tables, name)


__all__ = [
    "DeviceType",
    "Event",
    "EventFlag",
    "EventKind",
    "KinetoEvent",
    "Note",
    "Process",
    "RecordScope",
    "Trace",
    "Track",
    "load",
]

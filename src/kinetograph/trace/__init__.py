"""What was recorded: traces, their events, and how to load them."""

from kinetograph.trace.event import Event, KinetoEvent
from kinetograph.trace.load import load
from kinetograph.trace.trace import Note, Process, Trace, Track
from kinetograph.trace.words import DeviceType, EventFlag, EventKind, RecordScope

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

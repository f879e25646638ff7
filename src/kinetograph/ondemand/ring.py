"""The ring of an agent: what the process did in its last seconds, before anybody asked."""

from __future__ import annotations

from kinetograph.errors import NotAvailable
from kinetograph.session.config import ProfilerConfig, ProfilerState, RecordOptions
from kinetograph.session.recording import Session
from kinetograph.trace import Trace

__all__ = ["dumped", "start_ring", "stop_ring"]

VARIABLE = "KINETOGRAPH_AGENT_RING"

_seconds = 0.0
_session: Session | None = None


def start_ring(seconds: float) -> None:
    """Keep the newest so many seconds from now on, of scopes on all threads."""
    global _seconds, _session
    _session = _started(seconds)
    _seconds = seconds


def dumped(trace_id: str) -> Trace:
    """What the ring holds. It goes on, and tells the next time what happens from now on."""
    global _session
    if _session is None or not _session.is_running:
        raise NotAvailable("this process keeps no ring", hint=f"{VARIABLE}=10 keeps ten seconds, next time")
    # The new one first: what happens in between is in both.
    before, _session = _session, _started(_seconds)
    before.leave()  # the thread of the capture is no part of the program
    trace = before.stop()
    if trace_id:
        trace.metadata["trace_id"] = trace_id
    return trace


def stop_ring() -> None:
    global _session
    session, _session = _session, None
    if session is not None:
        session.discard()


def _started(seconds: float) -> Session:
    recording = RecordOptions(mode="ring", ring_seconds=seconds)
    return Session.start(ProfilerConfig(ProfilerState.KINETO_ONDEMAND, recording=recording))

"""Host activities that a caller timed itself and hands to the running trace."""

from __future__ import annotations

import threading
import warnings

from kinetograph.checks import require_instance, require_int, require_text, spelled
from kinetograph.errors import KinetographError
from kinetograph.kineto.activities import ActivityType
from kinetograph.kineto.devices import DeviceAndResource
from kinetograph.session.members import member_of
from kinetograph.trace.json_text import encodable, strict_json, to_json

__all__ = ["CpuActivity", "CpuTrace", "TraceWrapper", "add_metadata", "inbox"]

_INT64 = (-(1 << 63), (1 << 63) - 1)

# Arguments whose numbers a file gives anew: under these keys those of the program would be lost.
_NUMBERED_BY_THE_WRITER = frozenset({"Ev Idx", "External id", "Record function id", "correlation"})


class CpuActivity:
    """One activity of a TraceWrapper. `metadata` values are JSON text, as they will stand in `args`."""

    __slots__ = ("correlation_id", "duration_ns", "metadata", "name", "place", "start_ns", "type")

    def __init__(
        self,
        name: str,
        type: ActivityType,
        place: DeviceAndResource,
        correlation_id: int,
        start_ns: int,
        duration_ns: int,
    ) -> None:
        self.name = name
        self.type = type
        self.place = place
        self.correlation_id = correlation_id
        self.start_ns = start_ns
        self.duration_ns = duration_ns
        self.metadata: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<CpuActivity {self.name!r} {self.type.category} {self.duration_ns} ns>"


class CpuTrace:
    """The activities of one TraceWrapper, and the time they cover."""

    __slots__ = ("activities", "end_ns", "name", "start_ns")

    def __init__(self, name: str, start_ns: int, end_ns: int) -> None:
        self.name = name
        self.start_ns = start_ns
        self.end_ns = end_ns
        self.activities: list[CpuActivity] = []


class Inbox:
    """Where finished host traces wait for the running trace to end. Closed while none is running."""

    def __init__(self) -> None:
        self.start_clean()

    def start_clean(self) -> None:
        self._lock = threading.RLock()
        self._received: list[CpuTrace] | None = None

    def open(self) -> None:
        with self._lock:
            self._received = []

    def receive(self, cpu_trace: CpuTrace) -> bool:
        """False when no trace is running, so that the host trace is lost."""
        with self._lock:
            if self._received is None:
                return False
            self._received.append(cpu_trace)
            return True

    def close(self) -> list[CpuTrace]:
        with self._lock:
            received, self._received = self._received, None
            return received or []


inbox = Inbox()


class TraceWrapper:
    """Collects host activities, and hands them over once.

    >>> wrapper = TraceWrapper(start_ns, "my operators")
    >>> wrapper.add_cpu_activity("load", ActivityType.CPU_OP, kineto_ids(), 1, start_ns, end_ns)
    >>> wrapper.transfer_cpu_trace(end_ns)

    True in a condition until then. Not for several threads at once, unless they take turns.
    """

    def __init__(self, start_ns: int, name: str) -> None:
        require_text("name", name, hint="name what is traced")
        start_ns = _time("start_ns", start_ns)
        self._cpu_trace: CpuTrace | None = CpuTrace(name, start_ns, start_ns)

    def __bool__(self) -> bool:
        return self._cpu_trace is not None

    def add_cpu_activity(
        self,
        name: str,
        activity_type: ActivityType,
        device_and_resource: DeviceAndResource,
        correlation_id: int,
        start_ns: int,
        end_ns: int,
    ) -> CpuActivity:
        """The end of a CPU_INSTANT_EVENT is ignored: it has none."""
        require_text("name", name, hint="name what ran")
        start_ns, end_ns = _time("start_ns", start_ns), _time("end_ns", end_ns)
        correlation_id = require_int(
            "correlation_id",
            correlation_id,
            -(1 << 63),
            (1 << 63) - 1,
            hint="0 is for activities without one",
        )
        known_type = member_of(ActivityType, activity_type, what="activity_type")
        is_instant = known_type is ActivityType.CPU_INSTANT_EVENT
        # Callers close spans by clocks of their own; Kineto lets none end before it began, and so do we.
        duration_ns = 0 if is_instant else max(0, end_ns - start_ns)
        if duration_ns > _INT64[1]:
            raise KinetographError(
                f"end_ns={end_ns} lies more nanoseconds after start_ns={start_ns} than an int64 holds",
                hint="both are nanoseconds of wall time, as time.time_ns() gives them",
            )
        place = _place(device_and_resource)
        activity = CpuActivity(encodable(name), known_type, place, correlation_id, start_ns, duration_ns)
        self._open_trace().activities.append(activity)
        return activity

    def transfer_cpu_trace(self, end_ns: int) -> None:
        """Hand everything to the running trace; afterwards this wrapper is empty and False."""
        end_ns = _time("end_ns", end_ns)
        cpu_trace = self._open_trace()
        self._cpu_trace = None
        cpu_trace.end_ns = end_ns
        if not inbox.receive(cpu_trace):
            lost = len(cpu_trace.activities)
            warnings.warn(f"no trace is running: {lost} activities are dropped", RuntimeWarning, stacklevel=2)

    def _open_trace(self) -> CpuTrace:
        if self._cpu_trace is None:
            raise KinetographError(
                "this TraceWrapper has handed over its trace already, so nothing can be added",
                hint="make a new TraceWrapper for the activities that follow",
            )
        return self._cpu_trace


def _time(name: str, value: int) -> int:
    return require_int(name, value, *_INT64, hint="nanoseconds of wall time")


def _place(value: DeviceAndResource) -> DeviceAndResource:
    hint = "kineto_ids() gives those of the caller"
    try:
        device, resource = value
    except (TypeError, ValueError):
        raise KinetographError(
            f"device_and_resource: expected two numbers, got {spelled(value)}", hint=hint
        ) from None
    return DeviceAndResource(
        require_int("device", device, *_INT64, hint=hint),
        require_int("resource", resource, *_INT64, hint=hint),
    )


def add_metadata(activity: CpuActivity, key: str, value: str, *, quote: bool = False) -> None:
    """Give an activity one more argument. `value` is JSON text, or with `quote` any text at all."""
    require_instance("activity", activity, CpuActivity)
    require_text("key", key, hint="keys of a JSON object are strings")
    if quote:
        require_text("value", value, hint="without quote, JSON text of any type can be given")
    own_key = f"user.{key}" if key in _NUMBERED_BY_THE_WRITER else key
    activity.metadata[own_key] = to_json(value) if quote else checked_json(key, value)


def checked_json(key: str, value: str) -> str:
    """Text that can be put into a trace file as it is; Kineto checks nothing, and its file is broken then."""
    try:
        strict_json(value)
    except (TypeError, ValueError) as error:
        raise KinetographError(
            f"{key}: expected JSON text, got {spelled(value)} ({error})",
            hint="json.dumps(value) makes JSON text",
        ) from None
    return value

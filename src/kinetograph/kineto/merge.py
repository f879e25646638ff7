"""Put the host traces of TraceWrappers into the trace of the session they ran in."""

from __future__ import annotations

from collections.abc import Iterable

from kinetograph.kineto.activities import ActivityType
from kinetograph.kineto.cpu_trace import CpuActivity, CpuTrace
from kinetograph.kineto.devices import DeviceAndResource, device_type_from_activity
from kinetograph.trace import DeviceType, EventKind, Trace
from kinetograph.trace.json_text import to_json

__all__ = ["merge_cpu_traces"]

# Kineto puts devices below all processes.
_DEVICE_SORT_INDEX = 5_000_000


def merge_cpu_traces(trace: Trace, cpu_traces: Iterable[CpuTrace]) -> None:
    """Append every activity to `trace`, then restore its order once."""
    activities = [activity for cpu_trace in cpu_traces for activity in cpu_trace.activities]
    places = {activity.place: device_type_from_activity(activity.type) for activity in activities}
    streams = {place: device for place, device in places.items() if device is not DeviceType.CPU}
    on_host = streams.keys() & _host_places(trace)
    for activity in activities:
        _append(trace, activity)
    for place in streams.keys() - on_host:
        _name_stream(trace, place, streams[place])
    for device, resource in sorted(on_host):
        trace.add_note(
            "place",
            f"work of a device was given the place of a thread of this program (pid {device}, tid {resource})"
            ", and stands among what that thread did; name it by its device and stream",
        )
    if activities:
        trace.native.sort()


def _host_places(trace: Trace) -> set[DeviceAndResource]:
    return {
        DeviceAndResource(track.process.pid, track.tid)
        for track in trace.tracks
        if track.device_type is DeviceType.CPU
        and isinstance(track.process.pid, int)
        and isinstance(track.tid, int)
    }


def _append(trace: Trace, activity: CpuActivity) -> None:
    is_instant = activity.type is ActivityType.CPU_INSTANT_EVENT
    trace.native.append(
        activity.name,
        activity.type.category,
        EventKind.INSTANT if is_instant else EventKind.SPAN,
        activity.start_ns,
        activity.duration_ns,
        activity.place.device,
        activity.place.resource,
        args_json=_args_json(activity),
        correlation=activity.correlation_id,
    )


def _name_stream(trace: Trace, place: DeviceAndResource, device_type: DeviceType) -> None:
    device, stream = place
    # Any number is taken for a device, but only those of real ones are an index.
    index = device if 0 <= device < 1 << 31 else -1
    trace.native.name_process(device, "python", f"GPU {device}", _DEVICE_SORT_INDEX + index)
    trace.native.name_track(device, stream, f"stream {stream} ", stream, device_type, index)


def _args_json(activity: CpuActivity) -> str:
    """The members of a JSON object, without its braces."""
    return ",".join(f"{to_json(key)}:{value}" for key, value in activity.metadata.items())

"""Events that others measured: on devices we do not know, and in allocators we do not hook."""

from __future__ import annotations

from kinetograph import _native
from kinetograph.checks import require_int, require_text
from kinetograph.errors import UsageError
from kinetograph.hints import Any
from kinetograph.session.categories import CPU_INSTANT_EVENT, KERNEL
from kinetograph.session.members import member_of
from kinetograph.trace.json_text import encodable
from kinetograph.trace.words import DeviceType

__all__ = ["report_event", "report_memory_usage"]

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
# Files hold no times beyond these (the years 1896 to 2043), and whoever means a later one has another unit.
_LEAST_NS, _MOST_NS = -(1 << 61), (1 << 61)
_WALL_TIME = "nanoseconds of wall time, as time.time_ns() gives them"


def report_event(
    name: str,
    start_ns: int,
    end_ns: int,
    device_type: object = DeviceType.PRIVATEUSE1,
    device_index: int = 0,
    resource: int = 0,
    correlation_id: int = 0,
    **args: Any,
) -> None:
    """Record a span of another device (Vulkan, an accelerator with its own clock), in wall nanoseconds.

    >>> kg.report_event("shader", start_ns, end_ns, kg.DeviceType.VULKAN, 0, resource=3)

    `resource` is the queue or stream it ran on. Nothing happens without a session.
    """
    require_text("name", name, hint="name what ran, such as 'shader'")
    start_ns = require_int("start_ns", start_ns, _LEAST_NS, _MOST_NS, hint=_WALL_TIME)
    end_ns = require_int("end_ns", end_ns, _LEAST_NS, _MOST_NS, hint=_WALL_TIME)
    device_index = require_int("device_index", device_index, -1, (1 << 31) - 1, hint="devices count from 0")
    resource = require_int("resource", resource, _LEAST, _MOST, hint="the number of the queue or stream")
    correlation_id = require_int(
        "correlation_id", correlation_id, 0, (1 << 32) - 1, hint="0 is for events without one"
    )
    if end_ns < start_ns:
        raise UsageError(
            f"end_ns={end_ns} lies before start_ns={start_ns}", hint="both are nanoseconds of wall time"
        )
    if end_ns - start_ns > _MOST_NS:
        raise UsageError(f"a span of {end_ns - start_ns} ns is longer than files can hold", hint=_WALL_TIME)
    device = member_of(DeviceType, device_type, what="device_type")
    if not _native.is_recording():
        return
    place = {"device": device_index, "stream": resource}
    _native.record_device_event(
        encodable(name),
        KERNEL,
        start_ns,
        end_ns,
        device,
        device_index,
        resource,
        correlation_id,
        _members_text(place | args),
    )


def report_memory_usage(
    ptr: int,
    size: int,
    total_allocated: int,
    total_reserved: int,
    device: object = DeviceType.CPU,
    device_index: int = -1,
) -> None:
    """Record an allocation (`size` > 0) or a release (`size` < 0) by the calling thread, now."""
    members = {
        "Addr": require_int("ptr", ptr, _LEAST, (1 << 64) - 1, hint="the address, as a number"),
        "Bytes": require_int("size", size, _LEAST, _MOST, hint="bytes; less than 0 for a release"),
        "Total Allocated": require_int("total_allocated", total_allocated, _LEAST, _MOST, hint="bytes"),
        "Total Reserved": require_int("total_reserved", total_reserved, _LEAST, _MOST, hint="bytes"),
        "Device Type": int(member_of(DeviceType, device, what="device")),
        "Device Id": require_int("device_index", device_index, -1, (1 << 31) - 1, hint="-1 is for the host"),
    }
    if not _native.is_recording():
        return
    _native.record_instant("[memory]", CPU_INSTANT_EVENT, True, _members_text(members))


def _members_text(members: dict[str, Any]) -> bytes:
    # Here, for it brings json, and `import kinetograph` loads this module.
    from kinetograph.session.details import members_text

    return members_text(members)

"""Events that others measured: on devices we do not know, and in allocators we do not hook."""

from __future__ import annotations

from typing import Any

from kinetograph import _native
from kinetograph.errors import KinetographError
from kinetograph.session.members import member_of
from kinetograph.trace.words import DeviceType

__all__ = ["report_event", "report_memory_usage"]

# Category numbers of native/record/event.h.
_KERNEL = 4
_CPU_INSTANT_EVENT = 8


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
    if not isinstance(name, str):
        raise KinetographError(f"name: expected a str, got {name!r}")
    if end_ns < start_ns:
        raise KinetographError(
            f"end_ns={end_ns} lies before start_ns={start_ns}", hint="both are nanoseconds of wall time"
        )
    if not 0 <= correlation_id < 1 << 32:
        raise KinetographError(f"correlation_id: expected 0 to 2**32 - 1, got {correlation_id!r}")
    device = member_of(DeviceType, device_type, what="device_type")
    if not _native.is_recording():
        return
    place = {"device": device_index, "stream": resource}
    _native.record_device_event(
        name.encode("utf-8", "backslashreplace").decode(),  # lone surrogates are spelled out, as in scopes
        _KERNEL,
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
    if not _native.is_recording():
        return
    members = {
        "Addr": ptr,
        "Bytes": size,
        "Total Allocated": total_allocated,
        "Total Reserved": total_reserved,
        "Device Type": int(member_of(DeviceType, device, what="device")),
        "Device Id": device_index,
    }
    _native.record_instant("[memory]", _CPU_INSTANT_EVENT, True, _members_text(members))


def _members_text(members: dict[str, Any]) -> bytes:
    # Here, for it brings json, and `import kinetograph` loads this module.
    from kinetograph.session.details import members_text

    return members_text(members)

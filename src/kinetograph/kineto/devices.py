"""Which device an activity ran on, and which process and thread the caller is."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Mapping
from typing import NamedTuple

from kinetograph.checks import require_text
from kinetograph.kineto.activities import ActivityType
from kinetograph.trace import DeviceType

__all__ = [
    "DeviceAndResource",
    "device_type_from_activity",
    "get_privateuse1_backend",
    "kineto_ids",
    "rename_privateuse1_backend",
]

_UNNAMED_BACKEND = "privateuseone"
_privateuse1_backend = _UNNAMED_BACKEND


class DeviceAndResource(NamedTuple):
    """Where an activity ran: process and thread on the host, device and stream elsewhere."""

    device: int
    resource: int


def kineto_ids() -> DeviceAndResource:
    """The process and the thread, by the system's numbers, of the caller."""
    return DeviceAndResource(os.getpid(), threading.get_native_id())


def rename_privateuse1_backend(name: str) -> None:
    """Give the custom device its name. From then on device work counts as that device's, as in PyTorch."""
    global _privateuse1_backend
    require_text("name", name, hint="the name of the backend, such as 'npu'")
    _privateuse1_backend = name


def get_privateuse1_backend() -> str:
    return _privateuse1_backend


# Custom backends report their work with these types, having none of their own.
_ON_DEVICE: Mapping[ActivityType, DeviceType] = {
    ActivityType.GPU_MEMCPY: DeviceType.CUDA,
    ActivityType.GPU_MEMSET: DeviceType.CUDA,
    ActivityType.CONCURRENT_KERNEL: DeviceType.CUDA,
    ActivityType.CUDA_SYNC: DeviceType.CUDA,
    ActivityType.CUDA_EVENT: DeviceType.CUDA,
    ActivityType.GPU_USER_ANNOTATION: DeviceType.CUDA,
    ActivityType.CUDA_PROFILER_RANGE: DeviceType.CUDA,
    ActivityType.HARDWARE_COUNTERS: DeviceType.CUDA,
    ActivityType.MTIA_CCP_EVENTS: DeviceType.MTIA,
    ActivityType.MTIA_WORKLOADD: DeviceType.MTIA,
    ActivityType.MTIA_INSIGHT: DeviceType.MTIA,
    ActivityType.MTIA_COUNTERS: DeviceType.MTIA,
}
_NEVER_CUSTOM: Mapping[ActivityType, DeviceType] = {
    ActivityType.HPU_OP: DeviceType.HPU,
    ActivityType.XPU_SCOPE_PROFILER: DeviceType.XPU,
    ActivityType.XPU_SYNC: DeviceType.XPU,
}


def device_type_from_activity(activity_type: ActivityType | int) -> DeviceType:
    """The kind of device an activity of this type ran on; an unknown type warns, and counts as CPU."""
    try:
        known = ActivityType(activity_type)
    except ValueError:
        warnings.warn(
            f"unknown activity type ({activity_type}), assuming CPU device", RuntimeWarning, stacklevel=2
        )
        return DeviceType.CPU
    if known in _ON_DEVICE:
        has_custom = _privateuse1_backend != _UNNAMED_BACKEND
        return DeviceType.PRIVATEUSE1 if has_custom else _ON_DEVICE[known]
    return _NEVER_CUSTOM.get(known, DeviceType.CPU)

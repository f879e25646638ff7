"""Where activities ran: ids of the caller, and device types."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator

import pytest

from kinetograph import kineto
from kinetograph.kineto import ActivityType
from kinetograph.trace import DeviceType


@pytest.fixture
def custom_backend() -> Iterator[None]:
    before = kineto.get_privateuse1_backend()
    kineto.rename_privateuse1_backend("npu")
    yield
    kineto.rename_privateuse1_backend(before)


def test_kineto_ids_are_the_systems_numbers() -> None:
    assert kineto.kineto_ids() == (os.getpid(), threading.get_native_id())
    assert kineto.kineto_ids().resource == threading.get_native_id()


@pytest.mark.parametrize(
    ("activity", "device"),
    [
        (ActivityType.CONCURRENT_KERNEL, DeviceType.CUDA),
        (ActivityType.GPU_USER_ANNOTATION, DeviceType.CUDA),
        (ActivityType.CUDA_PROFILER_RANGE, DeviceType.CUDA),
        (ActivityType.MTIA_CCP_EVENTS, DeviceType.MTIA),
        (ActivityType.MTIA_WORKLOADD, DeviceType.MTIA),
        (ActivityType.HPU_OP, DeviceType.HPU),
        (ActivityType.CUDA_RUNTIME, DeviceType.CPU),
        (ActivityType.MTIA_RUNTIME, DeviceType.CPU),
        (ActivityType.GLOW_RUNTIME, DeviceType.CPU),
    ],
)
def test_device_type_follows_the_activity(activity: ActivityType, device: DeviceType) -> None:
    assert kineto.device_type_from_activity(activity) is device


@pytest.mark.usefixtures("custom_backend")
def test_a_named_custom_backend_claims_device_work_but_not_the_hosts() -> None:
    assert kineto.device_type_from_activity(ActivityType.CONCURRENT_KERNEL) is DeviceType.PRIVATEUSE1
    assert kineto.device_type_from_activity(ActivityType.MTIA_WORKLOADD) is DeviceType.PRIVATEUSE1
    assert kineto.device_type_from_activity(ActivityType.CUDA_RUNTIME) is DeviceType.CPU
    assert kineto.device_type_from_activity(ActivityType.HPU_OP) is DeviceType.HPU


def test_every_known_type_has_a_device_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(isinstance(kineto.device_type_from_activity(a), DeviceType) for a in ActivityType)


def test_an_unknown_type_warns_and_is_cpu() -> None:
    with pytest.warns(RuntimeWarning, match=r"unknown activity type \(77\), assuming CPU device"):
        assert kineto.device_type_from_activity(77) is DeviceType.CPU

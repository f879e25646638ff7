"""What a device says of its clock, on a driver without one."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import pytest
from fake_driver import FakeDriver

from kinetograph.intra_kernel import calibration, driver
from kinetograph.intra_kernel.calibration import calibrate, calibrate_if_due, calibrations
from kinetograph.intra_kernel.cuda import alloc_profiler_buffer, reset_profiler_buffer

AHEAD_NS = 123_456_789_012


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    fake = FakeDriver()
    fake.globaltimer = lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) + AHEAD_NS
    monkeypatch.setattr(driver, "_library", lambda: fake)
    monkeypatch.setattr(calibration, "_kept", {})
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # the kernel is a thread here
    yield fake
    sys.setswitchinterval(interval)


def test_the_answer_is_as_good_as_it_says(fake: FakeDriver) -> None:
    calibrate(1)
    [found] = calibrations(1)
    assert abs(found.offset_ns + AHEAD_NS) <= found.error_ns
    assert not calibrations(0)


def test_it_leaves_nothing_behind(fake: FakeDriver) -> None:
    calibrate(0)
    assert fake.capture_mode == 0
    assert fake.kernel is None
    assert not fake.arrays
    assert not fake.contexts
    assert fake.retained == [0, 0]


def test_who_makes_or_empties_a_buffer_has_asked_unless_that_was_just_done(
    fake: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    buffer = alloc_profiler_buffer(100, kind="driver", device=1)
    assert len(calibrations(1)) == 1
    reset_profiler_buffer(buffer)
    assert len(calibrations(1)) == 1
    monkeypatch.setattr(calibration, "_DUE_AFTER_NS", 0)
    reset_profiler_buffer(buffer)
    assert len(calibrations(1)) == 2


def test_they_are_bounded_in_number(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "_MOST_KEPT", 2)
    for _ in range(3):
        calibrate(0)
    first, second = calibrations(0)
    assert first.at_ns < second.at_ns


@pytest.mark.parametrize("call", ["cuModuleLoadData", "cuMemHostAlloc", "cuStreamCreate", "cuLaunchKernel"])
def test_a_device_that_cannot_be_asked_has_no_answer(fake: FakeDriver, call: str) -> None:
    setattr(fake, call, lambda *arguments: 2)
    calibrate_if_due(0)
    assert not calibrations(0)
    assert fake.capture_mode == 0
    assert not fake.arrays
    assert fake.retained == [0, 0]


def test_a_device_whose_kernel_dies_has_no_answer(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake, "_answer", lambda address: None)
    calibrate(0)
    assert not calibrations(0)

"""Buffers in memory of a device that no framework has made, on a driver without one."""

from __future__ import annotations

import gc

import pytest
from fake_driver import FakeDriver

from kinetograph.errors import KinetographError, NotAvailable, UsageError
from kinetograph.intra_kernel import driver
from kinetograph.intra_kernel.cuda import alloc_profiler_buffer, load_profiler_buffer, reset_profiler_buffer


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    fake = FakeDriver()
    monkeypatch.setattr(driver, "_library", lambda: fake)
    return fake


def test_a_buffer_lives_on_its_device_as_long_as_somebody_has_it(fake: FakeDriver) -> None:
    buffer = alloc_profiler_buffer(100, kind="driver", device="cuda:1")
    [(device, _memory)] = fake.arrays.values()
    assert device == 1
    assert fake.retained == [0, 1]
    del buffer
    gc.collect()
    assert not fake.arrays
    assert fake.retained == [0, 0]
    assert not fake.contexts


def test_it_can_be_read_and_emptied(fake: FakeDriver) -> None:
    buffer = alloc_profiler_buffer(100, kind="driver")
    assert not load_profiler_buffer(buffer).notes
    [(_device, memory)] = fake.arrays.values()
    new = memory.raw
    memory[24] = 1
    memory[-100] = 7
    reset_profiler_buffer(buffer)
    assert memory.raw == new
    assert not fake.contexts


def test_kernels_of_all_frameworks_take_it(fake: FakeDriver) -> None:
    buffer = alloc_profiler_buffer(100, kind="driver")
    interface = buffer.__cuda_array_interface__
    assert interface["data"] == (buffer.data_ptr(), False)
    assert interface["typestr"] == "<i8"
    [(_device, memory)] = fake.arrays.values()
    assert interface["shape"][0] * 8 <= len(memory)


def test_where_a_gpu_is_and_no_framework_is_loaded_it_is_the_usual_one(
    fake: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    for name in ("torch", "cupy", "numba.cuda"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert isinstance(alloc_profiler_buffer(100), driver.DeviceArray)


def test_what_the_driver_refuses_is_told_and_leaves_nothing(fake: FakeDriver) -> None:
    fake.cuMemAlloc_v2 = lambda address, size: 2  # type: ignore[method-assign]
    with pytest.raises(KinetographError, match="cuMemAlloc_v2 returned CUDA_ERROR_INVALID_VALUE"):
        alloc_profiler_buffer(100, kind="driver")
    gc.collect()
    assert fake.retained == [0, 0]
    with pytest.raises(KinetographError, match="cuDevicePrimaryCtxRetain"):
        alloc_profiler_buffer(100, kind="driver", device=7)


@pytest.mark.skipif(driver.device_count() > 0, reason="there is a GPU")
def test_without_a_driver_it_is_told_what_is_missing() -> None:
    with pytest.raises(NotAvailable, match=r"libcuda|no GPU"):
        alloc_profiler_buffer(100, kind="driver")


def test_kinds_and_devices_that_do_not_exist_are_told() -> None:
    with pytest.raises(UsageError, match="'driver'"):
        alloc_profiler_buffer(100, kind="jax")
    with pytest.raises(UsageError, match="cuda:0"):
        alloc_profiler_buffer(100, kind="driver", device="cpu")

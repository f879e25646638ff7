"""Memory of CUDA devices, by the driver itself: no framework is needed to make, fill or read a buffer.

Whoever else uses a device in this process does so in its primary context, and so do we.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

from kinetograph.errors import KinetographError, NotAvailable
from kinetograph.hints import Any

__all__ = [
    "DeviceArray",
    "call",
    "captures_undisturbed",
    "check",
    "clock_khz",
    "device_count",
    "device_of",
    "primary_context",
    "result_of",
    "succeeds",
]

_DEVICE_OF_POINTER = 9
_CLOCK_RATE = 13
_RELAXED_CAPTURE = 2


def call(name: str, *arguments: Any) -> None:
    """A function of the driver; what it returns is an error or nothing."""
    check(name, result_of(name, *arguments))


def result_of(name: str, *arguments: Any) -> int:
    return int(getattr(_library(), name)(*arguments))


def check(name: str, code: int) -> None:
    if code != 0:
        raise KinetographError(f"CUDA: {name} returned {_error_name(code)}")


def succeeds(name: str, *arguments: Any) -> bool:
    return result_of(name, *arguments) == 0


def device_count() -> int:
    """None without a driver."""
    count = ctypes.c_int()
    try:
        call("cuDeviceGetCount", ctypes.byref(count))
    except KinetographError:
        return 0
    return count.value


def device_of(address: int) -> int:
    device = ctypes.c_int()
    call("cuPointerGetAttribute", ctypes.byref(device), _DEVICE_OF_POINTER, ctypes.c_uint64(address))
    return device.value


def clock_khz(device: int) -> int:
    """How fast the clocks of its SMs are at most; 0 where it does not tell."""
    khz = ctypes.c_int()
    known = succeeds("cuDeviceGetAttribute", ctypes.byref(khz), _CLOCK_RATE, ctypes.c_int(device))
    return max(khz.value, 0) if known else 0


@contextmanager
def primary_context(device: int) -> Iterator[None]:
    """That of the device is the current one meanwhile."""
    handle = _retain(device)
    try:
        call("cuCtxPushCurrent_v2", handle)
        try:
            yield
        finally:
            call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
    finally:
        call("cuDevicePrimaryCtxRelease_v2", ctypes.c_int(device))


@contextmanager
def captures_undisturbed() -> Iterator[None]:
    """What is called meanwhile does not end the capture of a graph that is under way."""
    mode = ctypes.c_int(_RELAXED_CAPTURE)
    call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
    try:
        yield
    finally:
        call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))


class DeviceArray:
    """So many int64 in the memory of a device, until nobody has a reference any more."""

    dtype = "int64"
    """What Triton takes for its type."""

    def __init__(self, count: int, device: int) -> None:
        self.shape = (count,)
        self.device = device
        address = ctypes.c_uint64()
        _retain(device)
        weakref.finalize(self, _free, address, device, os.getpid())
        with primary_context(device):
            call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(count * 8))
        self._address = address.value

    def data_ptr(self) -> int:
        """The address, as tensors of torch have it."""
        return self._address

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": "<i8",
            "data": (self._address, False),
            "strides": None,
            "version": 3,
        }


def _free(address: ctypes.c_uint64, device: int, process: int) -> None:
    """Also at exit, and after errors of CUDA, when there is nothing left to be freed."""
    if os.getpid() != process:
        return
    with suppress(KinetographError):
        if address.value:
            with primary_context(device):
                call("cuMemFree_v2", address)
        call("cuDevicePrimaryCtxRelease_v2", ctypes.c_int(device))


def _retain(device: int) -> ctypes.c_void_p:
    handle = ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(handle), ctypes.c_int(device))
    return handle


@cache
def _library() -> Any:
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise NotAvailable(
            f"memory of a GPU needs NVIDIA's driver: {error}", hint="install it, or pass device='cpu'"
        ) from None
    code = library.cuInit(0)
    if code != 0:
        raise NotAvailable(f"NVIDIA's driver finds no GPU: cuInit returned {code}")
    return library


def _error_name(code: int) -> str:
    name = ctypes.c_char_p()
    _library().cuGetErrorName(code, ctypes.byref(name))
    return (name.value or b"an unknown error").decode() + f" ({code})"

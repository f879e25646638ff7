"""Whatever somebody passes as a profiler buffer, as an address and a size: of the host, or of a device."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping
from dataclasses import dataclass

from kinetograph.errors import ArgumentError, UsageError
from kinetograph.hints import TYPE_CHECKING, Any
from kinetograph.intra_kernel import driver

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

__all__ = ["Memory", "memory_of"]

_CAPTURE_UNSUPPORTED = 900


@dataclass(frozen=True)
class Memory:
    """Reading and writing wait for all that the device has to do, on whatever stream."""

    address: int
    size_bytes: int
    device: int | None
    is_read_only: bool = False

    def read(self, size_bytes: int | None = None) -> NDArray[int64]:
        """Its first bytes, or all."""
        import numpy

        size_bytes = self.size_bytes if size_bytes is None else min(size_bytes, self.size_bytes)
        copied = numpy.empty(size_bytes // 8, dtype=numpy.int64)
        if self.device is None:
            ctypes.memmove(copied.ctypes.data, self.address, copied.nbytes)
        else:
            with driver.primary_context(self.device):
                _wait_for_device()
                target, source = ctypes.c_void_p(copied.ctypes.data), ctypes.c_uint64(self.address)
                driver.call("cuMemcpyDtoH_v2", target, source, ctypes.c_size_t(copied.nbytes))
        return copied

    def fill(self, beginning: bytes) -> None:
        """These bytes, and zeros behind them."""
        if self.is_read_only:
            hint = "pass what alloc_profiler_buffer returned"
            raise UsageError("profiler_buffer: it is read-only", hint=hint)
        if self.device is None:
            ctypes.memset(self.address, 0, self.size_bytes)
            ctypes.memmove(self.address, beginning, len(beginning))
            return
        with driver.primary_context(self.device):
            address = ctypes.c_uint64(self.address)
            _wait_for_device()
            driver.call("cuMemsetD8_v2", address, ctypes.c_ubyte(0), ctypes.c_size_t(self.size_bytes))
            driver.call("cuMemcpyHtoD_v2", address, beginning, ctypes.c_size_t(len(beginning)))
            # Streams that do not wait for the default one may be next.
            driver.call("cuCtxSynchronize")


def _wait_for_device() -> None:
    code = driver.result_of("cuCtxSynchronize")
    if code == _CAPTURE_UNSUPPORTED:
        raise UsageError(
            "profiler_buffer: a CUDA graph is being captured, which to wait for the device has broken",
            hint="make, read and empty buffers before a capture begins or when it has ended",
        )
    driver.check("cuCtxSynchronize", code)


def memory_of(buffer: Any) -> Memory:
    """Of an array of any framework that tells where it lies: torch, CuPy, Numba, NumPy, our own."""
    interface = getattr(buffer, "__cuda_array_interface__", None)
    if interface is not None:
        return _described(interface, is_on_device=True)
    if hasattr(buffer, "data_ptr"):
        _require_one_piece(buffer.is_contiguous() and not buffer.is_meta)
        return Memory(buffer.data_ptr(), buffer.nbytes, None)
    if hasattr(buffer, "__array_interface__"):
        return _described(buffer.__array_interface__, is_on_device=False)
    raise ArgumentError(
        f"profiler_buffer: expected what alloc_profiler_buffer returned, got {type(buffer).__name__}",
        hint="inside `with ProfilerBuffer(...) as buffer` it is `buffer`",
    )


def _described(interface: Mapping[str, Any], *, is_on_device: bool) -> Memory:
    """By the protocol that arrays of NumPy, and with another name those of devices, have in common."""
    shape, item_bytes = interface["shape"], int(interface["typestr"][2:] or 0)
    in_order = tuple(item_bytes * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    _require_one_piece(interface.get("strides") in (None, in_order))
    address, is_read_only = interface["data"]
    size_bytes = item_bytes * math.prod(shape)
    return Memory(address, size_bytes, driver.device_of(address) if is_on_device else None, is_read_only)


def _require_one_piece(is_one: bool) -> None:
    """What lies apart, or backwards, would be read and written beside itself."""
    if not is_one:
        raise UsageError(
            "profiler_buffer: it does not lie in memory in one piece",
            hint="pass what alloc_profiler_buffer returned, not a part or a view of it",
        )

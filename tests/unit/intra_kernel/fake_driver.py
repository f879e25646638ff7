"""A CUDA driver without a GPU: two devices, whose memory is the host's."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Any


def _raw_clock_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


class FakeDriver:
    def __init__(self) -> None:
        self.retained = [0, 0]
        self.contexts: list[int] = []
        self.arrays: dict[int, tuple[int, Any]] = {}
        """By address: the device, and what holds the memory."""
        self.globaltimer: Callable[[], int] = _raw_clock_ns
        self.capture_mode = 0
        self.kernel: threading.Thread | None = None

    def cuInit(self, flags: int) -> int:
        return 0

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = len(self.retained)
        return 0

    def cuDeviceGetAttribute(self, value: Any, attribute: int, device: Any) -> int:
        assert attribute == 13
        value._obj.value = 1_500_000
        return 0

    def cuGetErrorName(self, code: int, name: Any) -> int:
        name._obj.value = b"CUDA_ERROR_INVALID_VALUE"
        return 0

    def cuDevicePrimaryCtxRetain(self, context: Any, device: Any) -> int:
        if device.value >= len(self.retained):
            return 101
        self.retained[device.value] += 1
        context._obj.value = 1000 + device.value
        return 0

    def cuDevicePrimaryCtxRelease_v2(self, device: Any) -> int:
        self.retained[device.value] -= 1
        return 0

    def cuCtxPushCurrent_v2(self, context: Any) -> int:
        self.contexts.append(context.value - 1000)
        return 0

    def cuCtxPopCurrent_v2(self, context: Any) -> int:
        self.contexts.pop()
        return 0

    def cuCtxSynchronize(self) -> int:
        return 0 if self.contexts else 201

    def cuPointerGetAttribute(self, data: Any, attribute: int, address: Any) -> int:
        assert attribute == 9
        data._obj.value = self.arrays[address.value][0]
        return 0

    def cuMemAlloc_v2(self, address: Any, size: Any) -> int:
        memory = ctypes.create_string_buffer(b"\x07" * size.value)
        address._obj.value = ctypes.addressof(memory)
        self.arrays[ctypes.addressof(memory)] = (self.contexts[-1], memory)
        return 0

    def cuMemFree_v2(self, address: Any) -> int:
        assert self.contexts
        del self.arrays[address.value]
        return 0

    def cuMemsetD8_v2(self, address: Any, value: Any, size: Any) -> int:
        ctypes.memset(address.value, value.value, size.value)
        return 0

    def cuMemcpyHtoD_v2(self, target: Any, source: bytes, size: Any) -> int:
        ctypes.memmove(target.value, source, size.value)
        return 0

    def cuMemcpyDtoH_v2(self, target: Any, source: Any, size: Any) -> int:
        ctypes.memmove(target.value, source.value, size.value)
        return 0

    def cuThreadExchangeStreamCaptureMode(self, mode: Any) -> int:
        self.capture_mode, mode._obj.value = mode._obj.value, self.capture_mode
        return 0

    def cuModuleLoadData(self, module: Any, code: bytes) -> int:
        assert b".visible .entry kinetograph_calibration" in code
        module._obj.value = 1
        return 0

    def cuModuleGetFunction(self, function: Any, module: Any, name: bytes) -> int:
        function._obj.value = 1
        return 0

    def cuModuleUnload(self, module: Any) -> int:
        assert self.kernel is None
        return 0

    def cuMemHostAlloc(self, address: Any, size: Any, flags: int) -> int:
        return self.cuMemAlloc_v2(address, size)

    def cuMemHostGetDevicePointer_v2(self, mapped: Any, address: Any, flags: int) -> int:
        mapped._obj.value = address.value
        return 0

    def cuMemFreeHost(self, address: Any) -> int:
        return self.cuMemFree_v2(address)

    def cuStreamCreate(self, stream: Any, flags: int) -> int:
        stream._obj.value = 1
        return 0

    def cuStreamDestroy_v2(self, stream: Any) -> int:
        return 0

    def cuLaunchKernel(self, function: Any, *rest: Any) -> int:
        """The only one there is: it answers each number in the first word with the time."""
        assert self.capture_mode == 2
        *_grid_and_stream, parameters, _extra = rest
        address = ctypes.c_uint64.from_address(parameters[0]).value
        self.kernel = threading.Thread(target=self._answer, args=(address,))
        self.kernel.start()
        return 0

    def _answer(self, address: int) -> None:
        _device, memory = self.arrays[address]
        words = (ctypes.c_uint64 * (len(memory) // 8)).from_address(address)
        for number in range(1, len(words)):
            while words[0] < number:
                time.sleep(0)
            words[number] = self.globaltimer()

    def cuStreamQuery(self, stream: Any) -> int:
        return 600 if self.kernel and self.kernel.is_alive() else 0

    def cuStreamSynchronize(self, stream: Any) -> int:
        if self.kernel is not None:
            self.kernel.join()
            self.kernel = None
        return 0

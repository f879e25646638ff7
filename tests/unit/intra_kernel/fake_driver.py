"""A CUDA driver without a GPU: two devices, whose memory is the host's."""

from __future__ import annotations

import ctypes
from typing import Any


class FakeDriver:
    def __init__(self) -> None:
        self.retained = [0, 0]
        self.contexts: list[int] = []
        self.arrays: dict[int, tuple[int, Any]] = {}
        """By address: the device, and what holds the memory."""

    def cuInit(self, flags: int) -> int:
        return 0

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = len(self.retained)
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

"""How the globaltimer of a device and the wall clock are related, asked of the device itself.

A kernel of one thread waits for a number in memory that both sides see, and answers with the time. That
answer was given between two readings of our clock; of several, the pair that lies closest counts. Nothing
here raises: who cannot be asked has no answer. It waits until the device has room for a thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import time
from collections.abc import Iterator

from kinetograph.hints import Any

__all__ = ["calibrate"]

_ROUNDS = 32
_PATIENCE_NS = 100_000_000

_PORTABLE_AND_MAPPED = 1 | 2
_NON_BLOCKING = 1
_RELAXED_CAPTURE = 2

# For any device since Volta. It gives up by itself, lest a program that was stopped here leaves it running.
_PTX = f"""
.version 6.0
.target sm_70
.address_size 64
.visible .entry kinetograph_calibration(.param .u64 mailbox)
{{
    .reg .pred is_asked, is_patient, has_more;
    .reg .u32 round, asked;
    .reg .u64 box, answer, begin, now, waited;
    ld.param.u64 box, [mailbox];
    cvta.to.global.u64 box, box;
    add.u64 answer, box, 8;
    mov.u32 round, 1;
NEXT:
    mov.u64 begin, %globaltimer;
WAIT:
    ld.volatile.global.u32 asked, [box];
    mov.u64 now, %globaltimer;
    setp.ge.u32 is_asked, asked, round;
    @is_asked bra ANSWER;
    sub.u64 waited, now, begin;
    setp.lt.u64 is_patient, waited, {_PATIENCE_NS};
    @is_patient bra WAIT;
    ret;
ANSWER:
    mov.u64 now, %globaltimer;
    st.volatile.global.u64 [answer], now;
    membar.sys;
    add.u64 answer, answer, 8;
    add.u32 round, round, 1;
    setp.le.u32 has_more, round, {_ROUNDS};
    @has_more bra NEXT;
    ret;
}}
"""


class _RefusedError(Exception):
    """A call of the driver did not succeed."""


def calibrate(device: int) -> tuple[int, int, int] | None:
    """A globaltimer, what has to be added to make it wall time, and how wrong that may be; or None.

    Only for a device that the program uses already: nothing is initialised by this.
    """
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        with _context(driver, device), _kernel(driver) as (mailbox, is_done):
            return _ask(mailbox, is_done)
    except (OSError, AttributeError, _RefusedError):
        return None


def _call(driver: Any, name: str, *arguments: Any) -> None:
    result = getattr(driver, name)(*arguments)
    if result != 0:
        raise _RefusedError(f"{name}: {result}")


@contextlib.contextmanager
def _context(driver: Any, device: int) -> Iterator[None]:
    """The primary context, which frameworks use, if it is active; and no harm to graphs being captured."""
    flags, is_active = ctypes.c_uint(), ctypes.c_int()
    _call(driver, "cuDevicePrimaryCtxGetState", device, ctypes.byref(flags), ctypes.byref(is_active))
    if not is_active.value:
        raise _RefusedError("no primary context")
    context, mode = ctypes.c_void_p(), ctypes.c_int(_RELAXED_CAPTURE)
    _call(driver, "cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    try:
        _call(driver, "cuCtxPushCurrent_v2", context)
        try:
            _call(driver, "cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
            try:
                yield
            finally:
                driver.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))
        finally:
            driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
    finally:
        driver.cuDevicePrimaryCtxRelease_v2(device)


@contextlib.contextmanager
def _kernel(driver: Any) -> Iterator[tuple[Any, Any]]:
    """The kernel while it runs: the memory it looks at, and whether it has ended."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    stream, memory, mapped = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    _call(driver, "cuModuleLoadData", ctypes.byref(module), _PTX.encode() + b"\0")
    try:
        _call(driver, "cuModuleGetFunction", ctypes.byref(function), module, b"kinetograph_calibration")
        size = ctypes.c_size_t((_ROUNDS + 1) * 8)
        _call(driver, "cuMemHostAlloc", ctypes.byref(memory), size, _PORTABLE_AND_MAPPED)
        ctypes.memset(memory, 0, size.value)
        _call(driver, "cuMemHostGetDevicePointer_v2", ctypes.byref(mapped), memory, 0)
        _call(driver, "cuStreamCreate", ctypes.byref(stream), _NON_BLOCKING)
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(mapped))
        _call(driver, "cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, None)
        mailbox = (ctypes.c_uint64 * (_ROUNDS + 1)).from_address(memory.value or 0)
        try:
            yield mailbox, lambda: driver.cuStreamQuery(stream) == 0
        finally:
            mailbox[0] = _ROUNDS  # so that it ends at once
            driver.cuStreamSynchronize(stream)
    finally:
        if stream:
            driver.cuStreamDestroy_v2(stream)
        if memory:
            driver.cuMemFreeHost(memory)
        driver.cuModuleUnload(module)


def _ask(mailbox: Any, is_done: Any) -> tuple[int, int, int] | None:
    best: tuple[int, int, int] | None = None
    for number in range(1, _ROUNDS + 1):
        before_ns = time.time_ns()
        mailbox[0] = number
        if not _is_answered(mailbox, number, is_done):
            return best
        after_ns = time.time_ns()
        error_ns = (after_ns - before_ns + 1) // 2
        # The first also waits for the kernel to begin.
        if number > 1 and (best is None or error_ns < best[2]):
            best = (mailbox[number], before_ns + error_ns - mailbox[number], error_ns)
    return best


def _is_answered(mailbox: Any, number: int, is_done: Any) -> bool:
    deadline_ns = time.monotonic_ns() + _PATIENCE_NS
    while True:
        # Most of the time goes here, and what is looked at in between would be part of the answer's.
        for _ in range(1000):
            if mailbox[number]:
                return True
        if time.monotonic_ns() > deadline_ns or is_done():
            return bool(mailbox[number])

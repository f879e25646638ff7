"""How the globaltimer of a device and a clock of the host are related, asked of the device itself.

A kernel of one thread waits for a number in memory that both sides see, and answers with the time. That
answer was given between two readings of the host's clock; of several, the pair that lies closest counts.
The clock is the one that nobody sets or slews: calibrations stay true as long as the process lives, and two
of them tell the rate. Nothing here raises: who cannot be asked has no answer. It waits until the device has
room for a thread.
"""

from __future__ import annotations

import ctypes
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kinetograph.errors import KinetographError
from kinetograph.hints import Any
from kinetograph.intra_kernel import driver

__all__ = ["Calibration", "calibrate", "calibrate_if_due", "calibrations"]

_ROUNDS = 32
_PATIENCE_NS = 100_000_000
_DUE_AFTER_NS = 1_000_000_000
_MOST_KEPT = 64

_PORTABLE_AND_MAPPED = 1 | 2
_NON_BLOCKING = 1

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


class Calibration(NamedTuple):
    at_ns: int
    """Of the globaltimer."""
    offset_ns: int
    """What has to be added to it for CLOCK_MONOTONIC_RAW."""
    error_ns: int


_kept: dict[int, deque[Calibration]] = {}
"""By device, in the order of time."""


def calibrations(device: int) -> list[Calibration]:
    return sorted(_kept.get(device, ()))


def calibrate_if_due(device: int) -> None:
    """Where the device has been waited for anyway. Programs may do that often: then not every time."""
    known = _kept.get(device)
    if not known or _now_ns() - (known[-1].at_ns + known[-1].offset_ns) > _DUE_AFTER_NS:
        calibrate(device)


def calibrate(device: int) -> None:
    try:
        with driver.primary_context(device), driver.captures_undisturbed(), _kernel() as (mailbox, is_done):
            found = _ask(mailbox, is_done)
    except (KinetographError, AttributeError):
        return
    if found is not None:
        _kept.setdefault(device, deque(maxlen=_MOST_KEPT)).append(found)


@contextmanager
def _kernel() -> Iterator[tuple[Any, Any]]:
    """The kernel while it runs: the memory it looks at, and whether it has ended."""
    with _function() as function, _shared_memory() as (memory, mapped), _stream() as stream:
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(mapped))
        driver.call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, None)
        mailbox = (ctypes.c_uint64 * (_ROUNDS + 1)).from_address(memory.value or 0)
        try:
            yield mailbox, lambda: driver.succeeds("cuStreamQuery", stream)
        finally:
            mailbox[0] = _ROUNDS  # so that it ends at once
            driver.call("cuStreamSynchronize", stream)


@contextmanager
def _function() -> Iterator[ctypes.c_void_p]:
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    driver.call("cuModuleLoadData", ctypes.byref(module), _PTX.encode() + b"\0")
    try:
        driver.call("cuModuleGetFunction", ctypes.byref(function), module, b"kinetograph_calibration")
        yield function
    finally:
        driver.call("cuModuleUnload", module)


@contextmanager
def _shared_memory() -> Iterator[tuple[ctypes.c_void_p, ctypes.c_void_p]]:
    """Its address on the host, and on the device."""
    memory, mapped = ctypes.c_void_p(), ctypes.c_void_p()
    size = ctypes.c_size_t((_ROUNDS + 1) * 8)
    driver.call("cuMemHostAlloc", ctypes.byref(memory), size, _PORTABLE_AND_MAPPED)
    try:
        ctypes.memset(memory, 0, size.value)
        driver.call("cuMemHostGetDevicePointer_v2", ctypes.byref(mapped), memory, 0)
        yield memory, mapped
    finally:
        driver.call("cuMemFreeHost", memory)


@contextmanager
def _stream() -> Iterator[ctypes.c_void_p]:
    """One that waits for no other."""
    stream = ctypes.c_void_p()
    driver.call("cuStreamCreate", ctypes.byref(stream), _NON_BLOCKING)
    try:
        yield stream
    finally:
        driver.call("cuStreamDestroy_v2", stream)


def _ask(mailbox: Any, is_done: Any) -> Calibration | None:
    best: Calibration | None = None
    for number in range(1, _ROUNDS + 1):
        before_ns = _now_ns()
        mailbox[0] = number
        if not _is_answered(mailbox, number, is_done):
            return best
        after_ns = _now_ns()
        error_ns = (after_ns - before_ns + 1) // 2
        # The first also waits for the kernel to begin.
        if number > 1 and (best is None or error_ns < best.error_ns):
            best = Calibration(mailbox[number], before_ns + error_ns - mailbox[number], error_ns)
    return best


def _now_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def _is_answered(mailbox: Any, number: int, is_done: Any) -> bool:
    deadline_ns = time.monotonic_ns() + _PATIENCE_NS
    while True:
        # Most of the time goes here, and what is looked at in between would be part of the answer's.
        for _ in range(1000):
            if mailbox[number]:
                return True
        if time.monotonic_ns() > deadline_ns or is_done():
            return bool(mailbox[number])

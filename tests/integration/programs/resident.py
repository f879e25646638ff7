"""Memory of this process, for the programs beside this file."""

from __future__ import annotations

import ctypes
import gc

_libc = ctypes.CDLL(None)


def resident_bytes() -> int:
    """What is resident once everything that can be given back was."""
    gc.collect()
    _libc.malloc_trim(0)
    return _field("VmRSS")


def peak_bytes() -> int:
    return _field("VmHWM")


def _field(name: str) -> int:
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    raise AssertionError(name)

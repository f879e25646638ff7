"""Where CUDA and CUPTI are on this machine, and why they cannot be used. Nothing is opened here."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from kinetograph import _native

__all__ = [
    "COUNTER_PERMISSION",
    "PATH_VARIABLE",
    "counters_are_restricted",
    "cupti_libraries",
    "why_missing",
]

COUNTER_PERMISSION = (
    "run as root or with CAP_SYS_ADMIN, or let all users count: load the driver's module with "
    "NVreg_RestrictProfilingToAdminUsers=0 (https://developer.nvidia.com/ERR_NVGPUCTRPERM)"
)

PATH_VARIABLE = "KINETOGRAPH_CUPTI"
_NOT_BUILT = 4
_DRIVER_PARAMETERS = "/proc/driver/nvidia/params"
_CAP_SYS_ADMIN = 1 << 21
_DRIVER_SIGNS = ("/proc/driver/nvidia/version", "/dev/dxg")
_FOLDERS_OF_WHEELS = ("nvidia/cu13/lib", "nvidia/cuda_cupti/lib")
_FOLDERS_OF_TOOLKITS = ("extras/CUPTI/lib64", "lib64")


def cupti_libraries() -> list[str]:
    """Paths of libcupti, best first; one that the program has loaded already is taken before any of them.

    The one that `KINETOGRAPH_CUPTI` names, those of NVIDIA's wheels, which torch uses too, and those of
    toolkits. The last entries are left to the loader.
    """
    named = os.environ.get(PATH_VARIABLE)
    if named:
        return [named]
    found = [os.path.join(folder, name) for folder in _folders() for name in _names_in(folder)]
    return [*found, "libcupti.so.13", "libcupti.so.12"]


def why_missing() -> str | None:
    """Why CUDA cannot be recorded here; None if it can."""
    state, reason, *_rest = _native.cuda_status()
    if state == _NOT_BUILT:
        return reason
    if not _native.cuda_is_mapped() and not any(map(os.path.exists, _DRIVER_SIGNS)):
        return "there is no NVIDIA driver on this machine"
    return None


def counters_are_restricted() -> bool:
    """Whether the driver lets only administrators count, and this process is none."""
    return _field_of(_DRIVER_PARAMETERS, "RmProfilingAdminOnly") == "1" and not _is_administrator()


def _is_administrator() -> bool:
    return bool(int(_field_of("/proc/self/status", "CapEff") or "0", 16) & _CAP_SYS_ADMIN)


def _field_of(path: str, name: str) -> str | None:
    """What follows `name:` in one of the kernel's files."""
    try:
        with open(path, errors="replace") as file:
            fields = (line.partition(":") for line in file)
            return next((value.strip() for key, _colon, value in fields if key == name), None)
    except OSError:
        return None


def _folders() -> Iterator[str]:
    for entry in sys.path:
        yield from (os.path.join(entry, folder) for folder in _FOLDERS_OF_WHEELS)
    for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if home:
            yield from (os.path.join(home, folder) for folder in _FOLDERS_OF_TOOLKITS)


def _names_in(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return sorted((name for name in names if name.startswith("libcupti.so")), reverse=True)

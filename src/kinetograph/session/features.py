"""What is there on this machine, what is not, and why. `kinetograph doctor` prints it.

Nothing here opens a library or imports a framework: files and package records are looked at, no more. Opening
libcupti in particular is left to the part that uses it, because it allows only one user per process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import NamedTuple

from kinetograph import injection
from kinetograph.errors import NotAvailable
from kinetograph.loader import why_not_loadable
from kinetograph.session.cuda_library import (
    COUNTER_PERMISSION,
    PATH_VARIABLE,
    counters_are_restricted,
    cupti_libraries,
    why_missing,
)

__all__ = ["Feature", "features"]

_OFF = 0  # nobody records CUDA now
_FIRST_SAFE_TO_LEAVE = 24  # as native/collect/cupti/attachment.cpp has it


class Feature(NamedTuple):
    """One line of the table; `hint` says how to get what is not there."""

    name: str
    is_available: bool
    detail: str
    hint: str = ""


def features() -> tuple[Feature, ...]:
    """The rows; `kg.features` is the door to them."""
    return (
        _python(),
        _native_core(),
        _clock(),
        _cuda_driver(),
        _cupti(),
        _cuda_events(),
        _hardware_metrics(),
        _annotations("nvtx", injection.NVTX),
        _annotations("itt", injection.ITT),
        _torch(),
        _triton(),
    )


def _python() -> Feature:
    version = sys.version.partition(" ")[0]
    return Feature("python", True, f"{sys.implementation.name} {version} on {sys.platform}")


def _native_core() -> Feature:
    try:
        from kinetograph import _native
    except ImportError as error:
        return Feature(
            "native core", False, str(error), "reinstall kinetograph: pip install --force-reinstall"
        )
    return Feature("native core", True, f"record ABI {_native.RECORD_ABI}")


def _clock() -> Feature:
    try:
        from kinetograph import _native
    except ImportError:
        return Feature("clock", False, "needs the native core")
    source = _native.tick_source()
    if source == "monotonic":
        return Feature("clock", True, "CLOCK_MONOTONIC, since the processor's counter is not invariant here")
    return Feature("clock", True, f"{source}, the processor's counter")


def _cuda_driver() -> Feature:
    library = _find_library("libcuda.so.1")
    if library is None:
        return Feature("cuda driver", False, "libcuda.so.1 not found", "install the NVIDIA driver")
    kernel_module = "/proc/driver/nvidia/version"
    if not os.path.exists(kernel_module):
        return Feature(
            "cuda driver", False, f"{library}, but no device", "is a GPU passed to this container?"
        )
    return Feature("cuda driver", True, f"{library}, {_first_line(kernel_module)}")


def _cupti() -> Feature:
    named = os.environ.get(PATH_VARIABLE)
    if named and (why := why_not_loadable(named)):
        more = "" if os.sep in named else ", and /the/whole/path is taken as it is"
        return Feature("cupti", False, f"{named} {why}", f"{PATH_VARIABLE} names it{more}")
    library = _cupti_in_use() or named or _cupti_of_a_session()
    if library is None:
        return Feature("cupti", False, "libcupti.so not found", "pip install 'kinetograph[cuda]'")
    reason = why_missing()
    detail = library if reason is None else f"{library}, but {reason}"
    return Feature("cupti", reason is None, detail + _stays_attached())


def _cupti_in_use() -> str:
    """That of the first session stays, whatever is named since; empty before it."""
    from kinetograph import _native

    path: str = _native.cuda_status()[2]
    return path


def _cupti_of_a_session() -> str | None:
    """The one that it would open, unless the program has loaded another: then where the loader looks."""
    return next(filter(os.path.exists, cupti_libraries()), None) or _find_library("libcupti.so")


def _stays_attached() -> str:
    """Where leaving it is not safe, it still costs each call into CUDA a little after a session."""
    from kinetograph import _native

    state, _reason, _library, version, _records = _native.cuda_status()
    stays = state == _OFF and 0 < version < _FIRST_SAFE_TO_LEAVE
    return (
        "; attached since a session, with everything off, for before CUDA 12.6 it cannot be left"
        if stays
        else ""
    )


def _cuda_events() -> Feature:
    reason = why_missing()
    if reason is not None:
        return Feature("cuda events", False, f"cannot time scopes: {reason}")
    return Feature("cuda events", True, "time scopes where CUPTI belongs to another tool")


def _hardware_metrics() -> Feature:
    if not _cupti().is_available:
        return Feature("hardware metrics", False, "needs CUPTI")
    if counters_are_restricted():
        return Feature("hardware metrics", False, "only for administrators here", COUNTER_PERMISSION)
    return Feature(
        "hardware metrics",
        True,
        "profiler_metrics, per kernel or per scope; pm_sampling_metrics, on a time grid",
    )


def _annotations(name: str, interface: injection.Interface) -> Feature:
    """Both ways: which are recorded, and who takes ours. The tool is not asked, for that would load it."""
    if not os.path.exists(injection.library()):
        return Feature(name, False, f"{injection.library()} is missing", "reinstall kinetograph")
    owner = injection.owner(interface)
    if owner is None:
        return Feature(
            name, True, f"annotations are recorded after kg.{name}.install() and by kinetograph run"
        )
    if injection.is_installed(interface):
        return Feature(name, True, "annotations are recorded")
    if why := why_not_loadable(owner):
        return Feature(name, False, f"{owner} {why}", f"{interface.variable} names it")
    return Feature(name, True, f"kg.emit_{name} sends scopes to {owner}, and annotations go there, too")


def _torch() -> Feature:
    version = _installed_version("torch")
    if version is None:
        return Feature("torch", False, "not installed", "pip install 'kinetograph[torch]'")
    from kinetograph.frameworks.torch.build import (
        PLACE_HINT,
        cached_observers,
        found_compiler,
        require_known,
        why_not_kept,
    )

    try:
        require_known(version)
        is_built = bool(cached_observers(version))
    except NotAvailable as error:
        why = str(error).partition("\n")[0]
        return Feature("torch", False, f"torch {version}, but {why}", error.hint or "")
    if is_built:
        return Feature("torch", True, f"torch {version}: operators, shapes, FLOPs")
    if (obstacle := why_not_kept()) is not None:
        return Feature("torch", False, f"torch {version}, but {obstacle}", PLACE_HINT)
    if found_compiler() is not None:
        later = "the first session, or `kinetograph build torch`, builds its observer"
        return Feature("torch", True, f"torch {version}: {later}")
    return Feature(
        "torch", False, f"torch {version}, but no C++ compiler", "install g++, or let CXX name one"
    )


def _triton() -> Feature:
    version = _installed_version("triton")
    if version is None:
        return Feature("triton", False, "not installed", "pip install 'kinetograph[triton]'")
    return Feature("triton", True, f"triton {version}: records from inside kernels")


def _installed_version(distribution: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _find_library(name: str) -> str | None:
    """Where the loader, or a wheel of NVIDIA's, has a library whose file name begins with `name`."""
    import glob

    for folder in _library_folders():
        found = sorted(glob.glob(os.path.join(glob.escape(folder), f"{name}*")))
        if found:
            return found[-1]
    return None


def _library_folders() -> Iterator[str]:
    import glob

    yield from filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))
    for entry in sys.path:
        # Wheels for CUDA 12 have a folder per library, those for CUDA 13 one for all.
        yield from glob.glob(os.path.join(glob.escape(entry), "nvidia/*/lib"))
    yield from ("/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64")
    yield from (f"/usr/lib/{os.uname().machine}-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")


def _first_line(path: str) -> str:
    with open(path, errors="replace") as file:
        return file.readline().strip()

"""Arrays that a profiler buffer may be: those of the framework that its kernels use, or our own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec

from kinetograph.checks import require_choice
from kinetograph.errors import NotAvailable, UsageError
from kinetograph.hints import Any
from kinetograph.intra_kernel import driver

__all__ = ["new_array"]


def new_array(count: int, kind: str | None, device: Any) -> Any:
    """So many int64, with anything in them."""
    if kind is None:
        kind = _usual_kind(device)
    require_choice("kind", kind, tuple(_MAKERS))
    try:
        return _MAKERS[kind](count, device)
    except ImportError as error:
        raise NotAvailable(
            f"a buffer of kind {kind!r} needs {kind}: {error}", hint="kind='driver' needs the driver alone"
        ) from None


def _usual_kind(device: Any) -> str:
    """That of a framework that is loaded already; for the CPU, what is there."""
    if device == "cpu" or _is_interpreting():
        return "torch" if find_spec("torch") else "numpy"
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        return "torch"
    for kind, module in (("cupy", "cupy"), ("numba", "numba.cuda")):
        if module in sys.modules:
            return kind
    if driver.device_count() > 0:
        return "driver"
    return "torch" if find_spec("torch") else "numpy"


def _torch(count: int, device: Any) -> Any:
    import torch

    if device is None:
        device = "cuda" if torch.cuda.is_available() and not _is_interpreting() else "cpu"
    return torch.empty(count, dtype=torch.int64, device=device)


def _cupy(count: int, device: Any) -> Any:
    import cupy

    with cupy.cuda.Device(None if device is None else _index(device)):
        return cupy.empty(count, dtype="int64")


def _numba(count: int, device: Any) -> Any:
    from numba import cuda

    if device is None:
        return cuda.device_array(count, dtype="int64")
    with cuda.gpus[_index(device)]:
        return cuda.device_array(count, dtype="int64")


def _driver(count: int, device: Any) -> driver.DeviceArray:
    return driver.DeviceArray(count, 0 if device is None else _index(device))


def _numpy(count: int, device: Any) -> Any:
    import numpy

    return numpy.empty(count, dtype="int64")


_MAKERS: dict[str, Callable[[int, Any], Any]] = {
    "torch": _torch,
    "cupy": _cupy,
    "numba": _numba,
    "driver": _driver,
    "numpy": _numpy,
}


def _index(device: Any) -> int:
    """Of 1, "cuda:1" or "cuda"."""
    name, _colon, number = str(device).rpartition(":")
    if number == "cuda":
        return 0
    if name not in ("", "cuda") or not number.isdecimal():
        raise UsageError(f"device: expected 0, 'cuda' or 'cuda:0', got {device!r}")
    return int(number)


def _is_interpreting() -> bool:
    return os.environ.get("TRITON_INTERPRET", "0").lower() in ("1", "true", "on", "yes")

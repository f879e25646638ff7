"""Modules of torch: all are called through one function, and each call goes by the module instead."""

from __future__ import annotations

from inspect import unwrap
from typing import Any

from kinetograph import _native

__all__ = ["name_modules"]


def name_modules(torch: Any) -> bool:
    """From now on, wherever Python calls are recorded: `nn.Module: Linear_0`, as torch.profiler has it.

    False where another tool has put something in their way that is no function of Python.
    """
    code = getattr(unwrap(torch.nn.Module.__call__), "__code__", None)
    if code is not None:
        _native.name_calls_by_object(code, "nn.Module: ")
    return code is not None

"""Modules of torch: all are called through one function, and each call goes by the module instead."""

from __future__ import annotations

from inspect import unwrap
from typing import Any

from kinetograph import _native

__all__ = ["name_modules"]


def name_modules(torch: Any) -> None:
    """From now on, wherever Python calls are recorded: `nn.Module: Linear_0`, as torch.profiler has it."""
    # Other tools wrap it.
    call = unwrap(torch.nn.Module.__call__)
    _native.name_calls_by_object(call.__code__, "nn.Module: ")

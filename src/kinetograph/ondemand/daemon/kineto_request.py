"""Kineto's configuration text as a request to an agent of ours: the other direction of `kineto_config`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinetograph.errors import UsageError
from kinetograph.ondemand.request import CaptureRequest

__all__ = ["request_for"]

_NS_PER_MS, _MS_PER_SECOND = 1_000_000, 1000
_SWITCHES = {
    "report_input_shapes": ("PROFILE_REPORT_INPUT_SHAPES", "CLIENT_INTERFACE_ENABLE_OP_INPUTS_COLLECTION"),
    "profile_memory": ("PROFILE_PROFILE_MEMORY",),
    "with_stack": ("PROFILE_WITH_STACK", "PYTHON_STACK_TRACE"),
    "with_flops": ("PROFILE_WITH_FLOPS",),
    "with_modules": ("PROFILE_WITH_MODULES",),
}
_YES, _NO = ("y", "yes", "t", "true", "1"), ("n", "no", "f", "false", "0", "")
_DEVICE_TYPES = ("gpu_", "kernel", "concurrent_kernel", "cuda_")


def request_for(config: str, *, has_steps: bool) -> CaptureRequest | None:
    """None if it asks for nothing. Warm-up and sizes of buffers are left to the agent, who needs none.

    As Kineto has it, a process that tells of no steps is recorded for a time.
    """
    settings = dict(line.split("=", 1) for line in config.splitlines())
    if not _is_on(settings, "ACTIVITIES_ENABLED", "true"):
        return None
    by_steps = has_steps and _number(settings, "ACTIVITIES_ITERATIONS")
    members: dict[str, Any] = {
        "activities": _activities(settings.get("ACTIVITY_TYPES", "")),
        "trace_id": settings.get("REQUEST_TRACE_ID", ""),
        **(_steps(settings) if by_steps else _time(settings)),
    }
    for option, keys in _SWITCHES.items():
        members[option] = any(_is_on(settings, key, "") for key in keys)
    return CaptureRequest(**members)


def _activities(types: str) -> tuple[str, ...]:
    names = [name.strip() for name in types.split(",") if name.strip()]
    wants_device = not names or any(name.startswith(_DEVICE_TYPES) for name in names)
    return ("CPU", "CUDA") if wants_device else ("CPU",)


def _time(settings: Mapping[str, str]) -> dict[str, int]:
    milliseconds = (
        _number(settings, "ACTIVITIES_DURATION_MSECS")
        or _number(settings, "ACTIVITIES_DURATION_SECS") * _MS_PER_SECOND
    )
    start_ms = _number(settings, "PROFILE_START_TIME")
    times = {"duration_ns": milliseconds * _NS_PER_MS, "start_time_ns": start_ms * _NS_PER_MS}
    return {name: value for name, value in times.items() if value}


def _steps(settings: Mapping[str, str]) -> dict[str, int]:
    """A step to begin with is one that comes; else the next multiple."""
    steps = {"steps": _number(settings, "ACTIVITIES_ITERATIONS")}
    first = _number(settings, "PROFILE_START_ITERATION")
    if first:
        return steps | {"start_step": first}
    return steps | {"start_step_multiple": _number(settings, "PROFILE_START_ITERATION_ROUNDUP") or 1}


def _number(settings: Mapping[str, str], key: str) -> int:
    """0 for none, which Kineto also spells -1."""
    text = settings.get(key) or "0"
    try:
        return max(0, int(text))
    except ValueError:
        raise UsageError(f"config: expected a whole number for {key}, got {text[:100]!r}") from None


def _is_on(settings: Mapping[str, str], key: str, default: str) -> bool:
    text = settings.get(key, default).lower()
    if text not in (*_YES, *_NO):
        raise UsageError(f"config: expected yes or no for {key}, got {text[:100]!r}")
    return text in _YES

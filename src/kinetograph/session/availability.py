"""Whether a session that was asked for can run here. Asked once, when it starts.

An option stands in a table below when asking for it would otherwise give nothing without a word. Options
that only shape events of a part that is not here (overload names of torch operators) pass: they lose nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kinetograph import _native
from kinetograph.errors import NotAvailable, UsageError
from kinetograph.session.activity import ActivityType
from kinetograph.session.config import ExperimentalConfig, ProfilerConfig
from kinetograph.session.cuda_library import why_missing
from kinetograph.session.state import ProfilerState

__all__ = ["NO_NVTX", "require_available", "require_cuda", "shortfalls"]

NO_NVTX = "it was built without the headers of NVTX"

_USE_KINETO = "use ProfilerState.KINETO, or CPU for host times only"

_MISSING_STATES: Mapping[ProfilerState, str] = {
    ProfilerState.PRIVATEUSE1: "markers of custom backends come with register_backend",
    ProfilerState.KINETO_PRIVATEUSE1_FALLBACK: "device times of custom backends come with register_backend",
    ProfilerState.KINETO_PRIVATEUSE1: "device times of custom backends come with register_backend",
}

_MISSING_ACTIVITIES: Mapping[ActivityType, str] = {
    ActivityType.XPU: "Intel GPUs come with the PTI part",
    ActivityType.HPU: "Gaudi devices come with register_backend",
    ActivityType.MTIA: "MTIA devices come with register_backend",
    ActivityType.PRIVATEUSE1: "custom devices come with register_backend",
}

_MISSING_EXPERIMENTS: Mapping[str, str] = {
    "performance_events": "CPU performance counters come with a later part",
    "adjust_profiler_step": "ProfilerStep spans stay as they were, and are not fitted to Python calls",
    "adjust_timestamps": "fitting host spans around device spans comes with register_backend",
}


def require_available(config: ProfilerConfig, activities: Iterable[ActivityType]) -> None:
    """Raise unless everything that `config` and `activities` ask for can be recorded here."""
    if config.state is ProfilerState.DISABLED:
        raise UsageError("state is DISABLED, so there is nothing to start", hint=_USE_KINETO)
    _refuse(f"ProfilerState.{config.state.name}", _why_missing(config.state), _USE_KINETO)
    activities = frozenset(activities)
    for activity in sorted(activities):
        if activity is ActivityType.CUDA:
            require_cuda()
        reason = _MISSING_ACTIVITIES.get(activity)
        _refuse(f"ActivityType.{activity.name}", reason, "ask for kg.supported_activities() only")
    _require_device_for_metrics(config, activities)
    _refuse_switched_on(config.experimental_config)


def _why_missing(state: ProfilerState) -> str | None:
    if state is ProfilerState.NVTX:
        return None if _native.nvtx_is_built() else NO_NVTX
    return why_missing() if state.times_scopes else _MISSING_STATES.get(state)


def _require_device_for_metrics(config: ProfilerConfig, activities: Iterable[ActivityType]) -> None:
    for option in ("profiler_metrics", "pm_sampling_metrics"):
        if not getattr(config.experimental_config, option):
            continue
        _refuse(option, why_missing(), "kinetograph doctor says what is there")
        if config.state is ProfilerState.CPU or config.state.times_scopes:
            raise UsageError(
                f"{option} come from CUPTI, which ProfilerState.{config.state.name} does without",
                hint="use ProfilerState.KINETO",
            )
        if ActivityType.CUDA not in activities:
            raise UsageError(
                f"{option} are those of a GPU, and this session does not record CUDA",
                hint='activities=["cpu", "cuda"]',
            )


def require_cuda() -> None:
    """Raise unless CUDA can be recorded here."""
    _refuse("ActivityType.CUDA", why_missing(), "kinetograph doctor says what is there")


def shortfalls(config: ProfilerConfig) -> tuple[str, ...]:
    """What `config` asks for and gets only in part, as sentences for `trace.notes`."""
    if not config.profile_memory:
        return ()
    return (
        "profile_memory: only what report_memory_usage tells, and what CUDA hands out, is recorded; "
        "allocator hooks are not here yet",
    )


def _refuse_switched_on(options: ExperimentalConfig) -> None:
    for name, reason in _MISSING_EXPERIMENTS.items():
        if getattr(options, name):
            _refuse(name, reason, f"leave {name} off")


def _refuse(what: str, reason: str | None, hint: str) -> None:
    if reason is not None:
        raise NotAvailable(f"{what} is not available here: {reason}", hint=hint)

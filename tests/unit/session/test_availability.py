"""What cannot be recorded here is refused when asked for by name, and never quietly left out."""

from __future__ import annotations

import pytest

from kinetograph import _native
from kinetograph.errors import KinetographError, NotAvailable, UsageError
from kinetograph.session import availability
from kinetograph.session.activity import ActivityType, supported_activities
from kinetograph.session.availability import require_available, shortfalls
from kinetograph.session.config import ExperimentalConfig, ProfilerConfig, ProfilerState

CPU = frozenset({ActivityType.CPU})
HERE = {
    ProfilerState.CPU,
    ProfilerState.KINETO,
    ProfilerState.KINETO_ONDEMAND,
    ProfilerState.NVTX,
    ProfilerState.ITT,
}
WITH_A_DRIVER = {ProfilerState.CUDA, ProfilerState.KINETO_GPU_FALLBACK}


@pytest.mark.parametrize("state", sorted(HERE))
def test_host_states_can_start(state: ProfilerState) -> None:
    require_available(ProfilerConfig(state, report_input_shapes=True, profile_memory=True), CPU)


@pytest.mark.parametrize(
    "state", [s for s in ProfilerState if s not in HERE | WITH_A_DRIVER and s is not ProfilerState.DISABLED]
)
def test_every_other_state_says_which_part_brings_it(state: ProfilerState) -> None:
    with pytest.raises(
        NotAvailable, match=f"ProfilerState.{state.name} is not available here: .*come"
    ) as caught:
        require_available(ProfilerConfig(state), CPU)
    assert caught.value.hint


@pytest.mark.parametrize("state", sorted(WITH_A_DRIVER))
def test_timing_by_cuda_events_needs_what_cuda_needs(
    state: ProfilerState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(availability, "why_missing", lambda: None)
    require_available(ProfilerConfig(state), CPU)
    monkeypatch.setattr(availability, "why_missing", lambda: "there is no driver")
    with pytest.raises(
        NotAvailable, match=f"ProfilerState.{state.name} is not available here: there is no driver"
    ):
        require_available(ProfilerConfig(state), CPU)


def test_emitting_nvtx_needs_a_build_with_its_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "nvtx_is_built", lambda: False)
    with pytest.raises(NotAvailable, match=r"ProfilerState\.NVTX is not available here: .*headers of NVTX"):
        require_available(ProfilerConfig(ProfilerState.NVTX), CPU)


def test_disabled_is_an_error_and_not_a_missing_part() -> None:
    with pytest.raises(KinetographError, match="nothing to start") as caught:
        require_available(ProfilerConfig(ProfilerState.DISABLED), CPU)
    assert not isinstance(caught.value, NotAvailable)


@pytest.mark.parametrize("activity", [a for a in ActivityType if a not in supported_activities()])
def test_devices_asked_for_by_name_are_refused(activity: ActivityType) -> None:
    with pytest.raises(NotAvailable, match=f"ActivityType.{activity.name}"):
        require_available(ProfilerConfig(), CPU | {activity})


def test_experimental_options_are_refused_when_they_would_give_nothing() -> None:
    counters = ExperimentalConfig(performance_events=["cycles"])
    with pytest.raises(NotAvailable, match="performance_events"):
        require_available(ProfilerConfig(experimental_config=counters), CPU)
    fitted = ExperimentalConfig(adjust_profiler_step=True)
    with pytest.raises(NotAvailable, match=r"ProfilerStep spans stay as they were, .*not fitted"):
        require_available(ProfilerConfig(experimental_config=fitted), CPU)
    harmless = ExperimentalConfig(verbose=True, profile_all_threads=True, capture_overload_names=True)
    require_available(ProfilerConfig(experimental_config=harmless), CPU)


@pytest.mark.parametrize("option", ["profiler_metrics", "pm_sampling_metrics"])
def test_metrics_of_a_gpu_need_one(monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    wanted = ExperimentalConfig(**{option: ["dram__bytes_read.sum"]})  # type: ignore[arg-type]
    config = ProfilerConfig(experimental_config=wanted)
    monkeypatch.setattr(availability, "why_missing", lambda: "there is no NVIDIA driver on this machine")
    with pytest.raises(NotAvailable, match=f"{option} is not available here: there is no NVIDIA driver"):
        require_available(config, CPU)
    monkeypatch.setattr(availability, "why_missing", lambda: None)
    with pytest.raises(UsageError, match="does not record CUDA"):
        require_available(config, CPU)
    require_available(config, CPU | {ActivityType.CUDA})


@pytest.mark.parametrize("option", ["profiler_metrics", "pm_sampling_metrics"])
@pytest.mark.parametrize("state", [ProfilerState.CUDA, ProfilerState.CPU])
def test_counters_need_cupti(monkeypatch: pytest.MonkeyPatch, option: str, state: ProfilerState) -> None:
    monkeypatch.setattr(availability, "why_missing", lambda: None)
    wanted = ExperimentalConfig(**{option: ["dram__bytes_read.sum"]})  # type: ignore[arg-type]
    config = ProfilerConfig(state, experimental_config=wanted)
    with pytest.raises(UsageError, match=rf"{option} come from CUPTI, which ProfilerState\.{state.name}"):
        require_available(config, CPU | {ActivityType.CUDA})


def test_memory_profiling_is_noted_as_partial() -> None:
    assert shortfalls(ProfilerConfig()) == ()
    assert "report_memory_usage" in shortfalls(ProfilerConfig(profile_memory=True))[0]

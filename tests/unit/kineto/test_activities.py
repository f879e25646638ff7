"""Which of libkineto's activity types a trace holds, by what it was asked for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kinetograph import kineto
from kinetograph.kineto import ActivityType
from kinetograph.session.activity import ActivityType as Group
from kinetograph.session.config import ExperimentalConfig

PLAIN = ExperimentalConfig()


@pytest.fixture(autouse=True)
def _switches_as_they_were(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("TORCH_PROFILER_ENABLE_COLLECTIVE_PROFILING", raising=False)
    yield
    kineto.set_cuda_sync_enabled(False)
    kineto.set_collectives_profiler(None)


def test_the_category_of_a_kernel_is_the_only_odd_one() -> None:
    assert ActivityType.CONCURRENT_KERNEL.category == "kernel"
    assert ActivityType.GLOW_RUNTIME.category == "glow_runtime"
    assert ActivityType.MTIA_CCP_EVENTS.category == "mtia_ccp_events"


def test_runtime_calls_belong_to_the_host_and_to_their_device() -> None:
    assert ActivityType.CUDA_RUNTIME in kineto.CPU_TYPES & kineto.CUDA_TYPES
    assert ActivityType.XPU_RUNTIME in kineto.CPU_TYPES & kineto.XPU_TYPES
    assert ActivityType.PRIVATEUSE1_DRIVER in kineto.CPU_TYPES & kineto.PRIVATEUSE1_TYPES


@pytest.mark.parametrize(
    ("group", "types"),
    [
        (Group.CPU, kineto.CPU_TYPES),
        (Group.XPU, kineto.XPU_TYPES),
        (Group.CUDA, kineto.CUDA_TYPES),
        (Group.HPU, kineto.HPU_TYPES),
        (Group.MTIA, kineto.MTIA_TYPES),
        (Group.PRIVATEUSE1, kineto.PRIVATEUSE1_TYPES),
    ],
)
def test_each_group_selects_its_set(group: Group, types: frozenset[ActivityType]) -> None:
    assert kineto.activity_types({group}, PLAIN) == types


def test_no_group_selects_nothing() -> None:
    assert kineto.activity_types((), PLAIN) == frozenset()


def test_cuda_sync_comes_by_option_or_by_switch_and_only_with_cuda() -> None:
    sync = ExperimentalConfig(enable_cuda_sync_events=True)
    assert ActivityType.CUDA_SYNC in kineto.activity_types({Group.CUDA}, sync)
    assert ActivityType.CUDA_SYNC not in kineto.activity_types({Group.CPU}, sync)
    kineto.set_cuda_sync_enabled(True)
    assert kineto.get_cuda_sync_enabled()
    assert ActivityType.CUDA_SYNC in kineto.activity_types({Group.CUDA}, PLAIN)


def test_collectives_come_by_environment_or_by_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not kineto.collectives_profiler_exists()
    monkeypatch.setenv("TORCH_PROFILER_ENABLE_COLLECTIVE_PROFILING", "1")
    assert ActivityType.COLLECTIVE_COMM in kineto.activity_types({Group.CPU}, PLAIN)
    kineto.set_collectives_profiler(False)
    assert ActivityType.COLLECTIVE_COMM not in kineto.activity_types({Group.CPU}, PLAIN)


def test_metrics_replace_everything_and_bring_the_host_only_per_kernel() -> None:
    ranges = {ActivityType.CUDA_PROFILER_RANGE}
    whole = ExperimentalConfig(profiler_metrics=["flops"])
    per_kernel = ExperimentalConfig(profiler_metrics=["flops"], profiler_measure_per_kernel=True)
    assert kineto.activity_types({Group.CPU, Group.CUDA}, whole) == ranges
    assert kineto.activity_types({Group.CPU, Group.CUDA}, per_kernel) == ranges | kineto.CPU_TYPES
    assert kineto.activity_types({Group.CUDA}, per_kernel) == ranges

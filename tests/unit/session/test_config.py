"""Configs are values: checked when made, with errors that say what to do."""

from __future__ import annotations

from typing import Any

import pytest

from kinetograph.errors import KinetographError, UsageError
from kinetograph.session.config import ExperimentalConfig, ProfilerConfig, ProfilerState, RecordOptions


def test_everything_is_off_by_default() -> None:
    config = ProfilerConfig()
    assert config.state is ProfilerState.KINETO
    assert True not in vars(config).values()
    assert config.trace_id == ""
    assert config.experimental_config == ExperimentalConfig()
    assert config.recording == RecordOptions()


def test_the_order_of_arguments_is_pytorchs() -> None:
    config = ProfilerConfig(ProfilerState.CPU, True, False, True, False, True, ExperimentalConfig(), "id")
    assert (config.report_input_shapes, config.profile_memory, config.with_stack) == (True, False, True)
    assert (config.with_flops, config.with_modules, config.trace_id) == (False, True, "id")


def test_configs_cannot_be_changed_and_equal_ones_are_equal() -> None:
    config = ProfilerConfig(experimental_config=ExperimentalConfig(profiler_metrics=["a"]))
    assert config == ProfilerConfig(experimental_config=ExperimentalConfig(profiler_metrics=("a",)))
    assert len({config, ProfilerConfig(), ProfilerConfig()}) == 2
    with pytest.raises(AttributeError, match="cannot be changed"):
        config.trace_id = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"state": 6}, "state: expected a member of ProfilerState, got 6"),
        ({"with_stack": "yes"}, "with_stack: expected True or False, got 'yes' (str)"),
        ({"with_stack": 1}, "with_stack: expected True or False, got 1 (int)"),
        ({"trace_id": None}, "trace_id: expected a string, got None"),
        ({"recording": "ring"}, "recording: expected RecordOptions, got 'ring'"),
        ({"experimental_config": None}, "experimental_config: expected ExperimentalConfig, got None"),
    ],
)
def test_a_wrong_option_is_named_with_what_came_and_a_hint(options: dict[str, Any], message: str) -> None:
    with pytest.raises(KinetographError) as caught:
        ProfilerConfig(**options)
    assert message in str(caught.value)
    assert caught.value.hint


def test_a_state_may_be_given_by_name() -> None:
    assert ProfilerConfig("cpu").state is ProfilerState.CPU  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["verbose", "profile_all_threads", "enable_cuda_sync_events", "trace_only"])
def test_an_experimental_config_is_true_only_when_it_asks_for_metrics(name: str) -> None:
    assert not ExperimentalConfig()
    assert not ExperimentalConfig(**{name: True})  # type: ignore[arg-type]
    assert ExperimentalConfig(profiler_metrics=["sm__cycles_active.avg"])


def test_experimental_lists_are_lists_of_strings() -> None:
    with pytest.raises(KinetographError, match="profiler_metrics: expected a list of strings"):
        ExperimentalConfig(profiler_metrics="sm__cycles_active.avg")
    with pytest.raises(KinetographError, match=r"performance_events\[...\]: expected a string"):
        ExperimentalConfig(performance_events=[1])  # type: ignore[list-item]


def test_counters_are_sampled_at_an_interval_and_not_together_with_metrics() -> None:
    sampled = ExperimentalConfig(
        pm_sampling_metrics=["sm__cycles_active.avg"], pm_sampling_interval_ns=50_000
    )
    assert sampled.pm_sampling_metrics == ("sm__cycles_active.avg",)
    assert not sampled  # they replace nothing
    with pytest.raises(KinetographError, match="pm_sampling_metrics: expected a list of strings"):
        ExperimentalConfig(pm_sampling_metrics="sm__cycles_active.avg")
    for wrong in (0, 9_999, 10**9 + 1, 1e5, True, "fast"):
        with pytest.raises(KinetographError, match="pm_sampling_interval_ns: expected"):
            ExperimentalConfig(pm_sampling_interval_ns=wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="cannot be had together"):
        sampled.replace(profiler_metrics=["sm__cycles_active.avg"])


def test_graphs_are_recorded_as_nodes_or_as_launches() -> None:
    assert ExperimentalConfig(cuda_graphs="launches").cuda_graphs == "launches"
    with pytest.raises(KinetographError, match="cuda_graphs: expected 'nodes' or 'launches'"):
        ExperimentalConfig(cuda_graphs="all")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["\udcff", "dram__bytes_read.sum\0x", ""])
def test_what_can_be_no_metric_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is no name of a metric"):
        ExperimentalConfig(pm_sampling_metrics=[name])

"""Making configs, and what their fields are."""

from typing import assert_type

import kinetograph as kg

config = kg.ProfilerConfig(
    kg.ProfilerState.CPU,
    report_input_shapes=True,
    experimental_config=kg.ExperimentalConfig(profiler_metrics=["flops"], verbose=True),
    recording=kg.RecordOptions(mode="ring", ring_seconds=2.5),
)
assert_type(config.state, kg.ProfilerState)
assert_type(config.with_stack, bool)
assert_type(config.recording.ring_seconds, float | None)
assert_type(kg.supported_activities(), frozenset[kg.ActivityType])
assert_type([feature.is_available for feature in kg.features()], list[bool])

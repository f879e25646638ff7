"""A profile with a schedule, and what it gives back."""

from typing import assert_type

import kinetograph as kg


def report(prof: kg.profile) -> None:
    assert_type(prof.step_num, int)
    assert_type(prof.trace, kg.Trace)
    prof.export_chrome_trace("trace.json.gz")


def train() -> None:
    schedule = kg.schedule(wait=1, warmup=1, active=2, repeat=1)
    assert_type(schedule(3), kg.ProfilerAction)
    with kg.profile(
        activities=[kg.ProfilerActivity.CPU, {kg.ActivityType.CUDA: ["GPU_MEMCPY"]}],
        schedule=schedule,
        on_trace_ready=report,
        record_shapes=True,
        mode="ring",
        ring_seconds=2.5,
    ) as prof:
        assert_type(prof, kg.profile)
        for _ in range(5):
            prof.step()
        prof.toggle_collection_dynamic(False, {kg.ActivityType.CPU})
    assert_type(prof.get_trace_id(), str | None)
    assert_type([event.duration_ns for event in prof.events()], list[int])


def to_tensorboard() -> kg.profile:
    handler = kg.tensorboard_trace_handler("traces", worker_name="rank0", use_gzip=True)
    return kg.profile(schedule=lambda step: kg.ProfilerAction.RECORD, on_trace_ready=handler)

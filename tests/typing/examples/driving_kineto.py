"""Driving a trace by hand, as PyTorch drives Kineto."""

import time
from typing import assert_type

import kinetograph as kg
from kinetograph import kineto


def trace_by_hand() -> None:
    kineto.prepare_trace(cpu_only=True, activities={kg.ActivityType.CPU}, trace_id="mine")
    kineto.start_trace()
    start_ns = time.time_ns()
    wrapper = kineto.TraceWrapper(start_ns, "operators")
    activity = wrapper.add_cpu_activity(
        "load", kineto.ActivityType.CPU_OP, kineto.kineto_ids(), 1, start_ns, start_ns + 10
    )
    kineto.add_metadata(activity, "bytes", "4096")
    wrapper.transfer_cpu_trace(start_ns + 10)
    finished = kineto.stop_trace()
    assert_type(finished, kineto.ActivityTraceWrapper)
    assert_type(kineto.device_type_from_activity(kineto.ActivityType.CPU_OP), kg.DeviceType)
    if finished:
        finished.save("trace.json")

"""PyTorch's Kineto shim, name for name, for callers that drive a trace by hand.

>>> kineto.prepare_trace(cpu_only=True, activities={kg.ActivityType.CPU})
>>> kineto.start_trace()
>>> wrapper = kineto.TraceWrapper(start_ns, "my operators")
>>> wrapper.add_cpu_activity("load", kineto.ActivityType.CPU_OP, kineto.kineto_ids(), 1, start_ns, end_ns)
>>> wrapper.transfer_cpu_trace(end_ns)
>>> kineto.stop_trace().save("trace.json")
"""

from kinetograph.kineto.activities import (
    CPU_TYPES,
    CUDA_TYPES,
    HPU_TYPES,
    MTIA_TYPES,
    PRIVATEUSE1_TYPES,
    XPU_TYPES,
    ActivityType,
    activity_types,
)
from kinetograph.kineto.control import (
    ActivityTraceWrapper,
    add_metadata_json,
    init,
    init_profiler_if_registered,
    is_profiler_initialized,
    is_profiler_registered,
    log_invariant_violation,
    prepare_trace,
    profiler_step,
    record_thread_info,
    start_trace,
    step_count,
    stop_trace,
)
from kinetograph.kineto.correlation import (
    correlation_id,
    pop_correlation_id,
    pop_user_correlation_id,
    push_correlation_id,
    push_user_correlation_id,
    reset_tls,
    user_correlation_id,
)
from kinetograph.kineto.cpu_trace import CpuActivity, TraceWrapper, add_metadata
from kinetograph.kineto.devices import (
    DeviceAndResource,
    device_type_from_activity,
    get_privateuse1_backend,
    kineto_ids,
    rename_privateuse1_backend,
)
from kinetograph.kineto.log import suppress_log_messages
from kinetograph.kineto.switches import (
    collectives_profiler_exists,
    get_cuda_sync_enabled,
    set_collectives_profiler,
    set_cuda_sync_enabled,
)

__all__ = [
    "CPU_TYPES",
    "CUDA_TYPES",
    "HPU_TYPES",
    "MTIA_TYPES",
    "PRIVATEUSE1_TYPES",
    "XPU_TYPES",
    "ActivityTraceWrapper",
    "ActivityType",
    "CpuActivity",
    "DeviceAndResource",
    "TraceWrapper",
    "activity_types",
    "add_metadata",
    "add_metadata_json",
    "collectives_profiler_exists",
    "correlation_id",
    "device_type_from_activity",
    "get_cuda_sync_enabled",
    "get_privateuse1_backend",
    "init",
    "init_profiler_if_registered",
    "is_profiler_initialized",
    "is_profiler_registered",
    "kineto_ids",
    "log_invariant_violation",
    "pop_correlation_id",
    "pop_user_correlation_id",
    "prepare_trace",
    "profiler_step",
    "push_correlation_id",
    "push_user_correlation_id",
    "record_thread_info",
    "rename_privateuse1_backend",
    "reset_tls",
    "set_collectives_profiler",
    "set_cuda_sync_enabled",
    "start_trace",
    "step_count",
    "stop_trace",
    "suppress_log_messages",
    "user_correlation_id",
]

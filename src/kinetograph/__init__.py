"""Kinetograph: a profiler for Python programs that sees every layer at once, on one clock, in one trace.

>>> import kinetograph as kg
>>> kg.enable_profiler()
>>> with kg.scope("work"):
...     work()
>>> kg.disable_profiler().save("trace.json.gz")
"""

from kinetograph import kineto
from kinetograph.errors import KinetographError, NotAvailable, TraceFormatError
from kinetograph.session.activity import ActivityType, ProfilerActivity, features, supported_activities
from kinetograph.session.config import (
    CallOptions,
    ExperimentalConfig,
    ProfilerConfig,
    ProfilerState,
    RecordOptions,
)
from kinetograph.session.later import (
    ExecutionTraceObserver,
    ProfilerAction,
    emit_itt,
    emit_nvtx,
    itt,
    nvtx,
    ondemand,
    patch_torch,
    profile,
    register_backend,
    schedule,
    start_agent,
    tensorboard_trace_handler,
)
from kinetograph.session.low_level import (
    disable_profiler,
    disable_profiler_in_child_thread,
    enable_profiler,
    enable_profiler_in_child_thread,
    is_profiler_enabled_in_main_thread,
)
from kinetograph.session.observer import (
    RecordFunction,
    add_global_callback,
    add_thread_local_callback,
    remove_callback,
)
from kinetograph.session.report import report_event, report_memory_usage
from kinetograph.session.result import ProfilerResult
from kinetograph.session.scopes import counter, mark, record_function, scope
from kinetograph.trace import DeviceType, Event, EventKind, KinetoEvent, RecordScope, Trace, load

__version__ = "0.1.0"

__all__ = [
    "ActivityType",
    "CallOptions",
    "DeviceType",
    "Event",
    "EventKind",
    "ExecutionTraceObserver",
    "ExperimentalConfig",
    "KinetoEvent",
    "KinetographError",
    "NotAvailable",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerConfig",
    "ProfilerResult",
    "ProfilerState",
    "RecordFunction",
    "RecordOptions",
    "RecordScope",
    "Trace",
    "TraceFormatError",
    "add_global_callback",
    "add_thread_local_callback",
    "counter",
    "disable_profiler",
    "disable_profiler_in_child_thread",
    "emit_itt",
    "emit_nvtx",
    "enable_profiler",
    "enable_profiler_in_child_thread",
    "features",
    "is_profiler_enabled_in_main_thread",
    "itt",
    "kineto",
    "load",
    "mark",
    "nvtx",
    "ondemand",
    "patch_torch",
    "profile",
    "record_function",
    "register_backend",
    "remove_callback",
    "report_event",
    "report_memory_usage",
    "schedule",
    "scope",
    "start_agent",
    "supported_activities",
    "tensorboard_trace_handler",
]

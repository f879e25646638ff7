"""Kinetograph: a profiler for Python programs that sees every layer at once, on one clock, in one trace.

>>> import kinetograph as kg
>>> with kg.profile() as p:
...     with kg.scope("work"):
...         work()
>>> p.export_chrome_trace("trace.json.gz")
"""

from kinetograph import itt, kineto, nvtx, ondemand
from kinetograph.errors import (
    ArgumentError,
    KinetographError,
    NotAvailable,
    StateError,
    TraceFormatError,
    UsageError,
)
from kinetograph.jupyter import load_ipython_extension
from kinetograph.ondemand import start_agent
from kinetograph.session.activity import (
    ActivityType,
    ProfilerActivity,
    features,
    kineto_available,
    supported_activities,
)
from kinetograph.session.config import (
    CallOptions,
    ExperimentalConfig,
    ProfilerConfig,
    ProfilerState,
    RecordOptions,
)
from kinetograph.session.emission import emit_itt, emit_nvtx
from kinetograph.session.execution_trace import ExecutionTraceObserver
from kinetograph.session.kineto_profile import KinetoProfile
from kinetograph.session.later import (
    register_backend,
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
from kinetograph.session.profile import profile
from kinetograph.session.report import report_event, report_memory_usage
from kinetograph.session.result import ProfilerResult
from kinetograph.session.schedule import ProfilerAction, schedule
from kinetograph.session.scopes import counter, mark, patch_torch, record_function, scope, unpatch_torch
from kinetograph.session.step_tracker import KinetoStepTracker, step
from kinetograph.session.tensorboard import tensorboard_trace_handler
from kinetograph.trace import DeviceType, Event, EventKind, KinetoEvent, RecordScope, Trace, load

__version__ = "0.1.0"

# PyTorch's spelling of these.
_ExperimentalConfig, _KinetoProfile = ExperimentalConfig, KinetoProfile

__all__ = [
    "ActivityType",
    "ArgumentError",
    "CallOptions",
    "DeviceType",
    "Event",
    "EventKind",
    "ExecutionTraceObserver",
    "ExperimentalConfig",
    "KinetoEvent",
    "KinetoProfile",
    "KinetoStepTracker",
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
    "StateError",
    "Trace",
    "TraceFormatError",
    "UsageError",
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
    "kineto_available",
    "load",
    "load_ipython_extension",
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
    "step",
    "supported_activities",
    "tensorboard_trace_handler",
    "unpatch_torch",
]

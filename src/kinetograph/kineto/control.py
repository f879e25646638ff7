"""Prepare, start and stop the one trace that the shim drives, as libkineto's activity profiler does."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterable
from typing import NamedTuple

from kinetograph.checks import require_bool
from kinetograph.errors import KinetographError
from kinetograph.kineto.activities import activity_types
from kinetograph.kineto.correlation import reset_tls
from kinetograph.kineto.cpu_trace import checked_json, inbox
from kinetograph.kineto.log import logger, suppress_log_messages
from kinetograph.kineto.merge import merge_cpu_traces
from kinetograph.session.activity import ActivityType, activity_set
from kinetograph.session.availability import require_available
from kinetograph.session.config import ExperimentalConfig, ProfilerConfig
from kinetograph.session.recording import Session
from kinetograph.session.step_tracker import KinetoStepTracker
from kinetograph.trace import Trace
from kinetograph.trace.json_text import encodable
from kinetograph.trace.trace import require_free_key

__all__ = [
    "ActivityTraceWrapper",
    "add_metadata_json",
    "init",
    "init_profiler_if_registered",
    "is_profiler_initialized",
    "is_profiler_registered",
    "log_invariant_violation",
    "prepare_trace",
    "profiler_step",
    "record_thread_info",
    "start_trace",
    "step_count",
    "stop_trace",
]


class _Plan(NamedTuple):
    """What prepare_trace settled for the trace to come."""

    config: ProfilerConfig
    activities: frozenset[ActivityType]
    not_recorded: frozenset[ActivityType]


class _Profiler:
    """Everything the shim remembers between calls. One per process; a forked child starts with a new one."""

    def __init__(self) -> None:
        self.is_registered = False
        self.is_initialized = False
        self.cpu_only = False
        self.steps = 0
        self.plan: _Plan | None = None
        self.session: Session | None = None
        self.metadata: dict[str, str] = {}
        self.thread_names: dict[int, str] = {}
        self.notes: list[tuple[str, str]] = []


_profiler = _Profiler()
_lock = threading.RLock()


class ActivityTraceWrapper:
    """A finished trace. True when there is one; it can be saved as often as you like."""

    def __init__(self, trace: Trace | None = None) -> None:
        self.trace = trace

    def __bool__(self) -> bool:
        return self.trace is not None

    def save(self, path: str | os.PathLike[str]) -> None:
        if self.trace is None:
            raise KinetographError("there is no trace to save", hint="stop_trace() returns one that has it")
        self.trace.save(path)

    def __repr__(self) -> str:
        return f"<ActivityTraceWrapper of {self.trace!r}>"


def init(cpu_only: bool = False) -> None:
    """Register the profiler with this process; the first trace or step initialises it.

    With `cpu_only` no device is ever recorded, whatever a trace asks for.
    """
    require_bool("cpu_only", cpu_only)
    with _lock:
        _profiler.is_registered = True
        _profiler.cpu_only = cpu_only


def is_profiler_registered() -> bool:
    return _profiler.is_registered


def init_profiler_if_registered() -> None:
    with _lock:
        _profiler.is_initialized |= _profiler.is_registered


def is_profiler_initialized() -> bool:
    return _profiler.is_initialized


def prepare_trace(
    cpu_only: bool,
    activities: Iterable[object],
    config: ExperimentalConfig | None = None,
    trace_id: str = "",
) -> None:
    """Settle what the next trace records. Devices asked for with `cpu_only` are left out, and noted."""
    require_bool("cpu_only", cpu_only, hint="True leaves all devices out")
    # Not `config or ...`: a config is only true when it asks for metrics.
    experimental = ExperimentalConfig() if config is None else config
    options = ProfilerConfig(experimental_config=experimental, trace_id=trace_id)
    asked = activity_set(activities)
    with _lock:
        _require_idle()
        _profiler.plan = None
        reset_tls()
        _wake()
        recorded = asked & {ActivityType.CPU} if cpu_only or _profiler.cpu_only else asked
        require_available(options, recorded)
        logger().info("activity types: %s", sorted(activity_types(asked, experimental)))
        _profiler.plan = _Plan(options, recorded, asked - recorded)


def start_trace() -> None:
    """Record all threads from now on."""
    with _lock:
        _require_idle()
        plan = _profiler.plan
        if plan is None:
            raise KinetographError("no trace is prepared", hint="call prepare_trace first")
        started: list[Session] = []
        try:
            _profiler.session = Session.start(plan.config, plan.activities, all_threads=True, kept=started)
            inbox.open()
        except BaseException:  # an interrupt, behind which nobody would know of it
            inbox.close()
            _profiler.session = None
            for session in started:
                session.discard()
            raise


def stop_trace() -> ActivityTraceWrapper:
    """End the trace, with the host traces that were handed over and the metadata added meanwhile."""
    with _lock:
        session, plan = _profiler.session, _profiler.plan
        if session is None or plan is None:
            raise KinetographError("no trace is running", hint="call prepare_trace, then start_trace")
        trace = _finished(session)
        merge_cpu_traces(trace, inbox.close())
        _describe(trace, plan)
        _profiler.session = _profiler.plan = None
        session.let_go()
    return ActivityTraceWrapper(trace)


def _finished(session: Session) -> Trace:
    """One that goes on, for want of memory or after Ctrl-C, is there for the next stop."""
    try:
        return session.finish()
    except Exception:
        if not session.is_open:
            _profiler.session = _profiler.plan = None
        raise


def record_thread_info() -> None:
    """Give this thread a row with its name in the trace, even if it records nothing."""
    with _lock:
        _profiler.thread_names[threading.get_native_id()] = threading.current_thread().name


def add_metadata_json(key: str, value: str) -> None:
    """Add a top-level entry, JSON text, to the next trace that ends. Warns when not initialised."""
    require_free_key(key)
    text = checked_json(key, value)
    if not _profiler.is_initialized:
        warnings.warn(
            "profiler is not initialized: skipping profiling metadata", RuntimeWarning, stacklevel=2
        )
        return
    with _lock:
        _profiler.metadata[key] = text


def profiler_step() -> None:
    """Count one step of the program. Without a registered profiler nothing happens."""
    init_profiler_if_registered()
    with _lock:
        _profiler.steps += _profiler.is_initialized


def step_count() -> int:
    """How many steps were counted in this process."""
    return _profiler.steps


def log_invariant_violation(
    assertion: str, error: str, profile_id: str = "", group_profile_id: str = ""
) -> None:
    """Log that something that must hold did not, and note it in the trace. Silent when not initialised."""
    if not _profiler.is_initialized:
        return
    ids = "".join(
        f" {name}={value}" for name, value in (("profile", profile_id), ("group", group_profile_id)) if value
    )
    text = f"{assertion}: {error}{ids}"
    logger().error("invariant violated: %s", text)
    with _lock:
        _profiler.notes.append(("invariant", text))


def _require_idle() -> None:
    if _profiler.session is not None:
        raise KinetographError("a trace is running already", hint="call stop_trace first")


def _wake() -> None:
    """Register and initialise, as far as that has not been done; what we register ourselves stays quiet."""
    if not _profiler.is_registered:
        init()
        suppress_log_messages()
    init_profiler_if_registered()


def _describe(trace: Trace, plan: _Plan) -> None:
    """Move what was said while tracing into the trace, so that the next one starts with none of it."""
    notes, _profiler.notes = _profiler.notes, []
    metadata, _profiler.metadata = _profiler.metadata, {}
    thread_names, _profiler.thread_names = _profiler.thread_names, {}
    if plan.not_recorded:
        names = ", ".join(activity.name for activity in sorted(plan.not_recorded))
        notes.append(("activities", f"cpu_only: {names} asked for and not recorded"))
    for kind, text in notes:
        trace.add_note(kind, text)
    for key, value in metadata.items():
        trace.native.set_metadata(encodable(key), value)
    for tid, name in thread_names.items():
        trace.native.name_track(os.getpid(), tid, f"thread {tid} ({name})", tid)


def _start_clean() -> None:
    global _lock, _profiler
    # Another thread may have held the lock, and is not here to release it.
    _lock = threading.RLock()
    _profiler = _Profiler()
    inbox.start_clean()
    reset_tls()


# Steps of `kg.profile`, and of all who count with it.
KinetoStepTracker.tell(profiler_step)

# The trace that was running belongs to the parent; in the child its session would be a stranger's.
os.register_at_fork(after_in_child=_start_clean)

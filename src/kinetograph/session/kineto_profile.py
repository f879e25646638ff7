"""`KinetoProfile`: traces one after another, prepared, started and stopped by hand; `profile` adds steps."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence

from kinetograph.checks import require_bool, require_positive, require_text, spelled
from kinetograph.errors import StateError, warn_program
from kinetograph.hints import TYPE_CHECKING, Literal
from kinetograph.session.activity import ActivityType
from kinetograph.session.config import (
    CallOptions,
    ExperimentalConfig,
    ProfilerConfig,
    RecordOptions,
    framework_names,
)
from kinetograph.session.handover import call_program
from kinetograph.session.members import members_of
from kinetograph.session.outputs import ProfileOutputs
from kinetograph.session.scopes import load_profile_side

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from kinetograph.session.cycle import Cycle

__all__ = ["KinetoProfile"]

_CLEARS = (
    "Profiler clears events at the end of each cycle. Only those of the last one are reported: "
    "acc_events=True keeps them all."
)
_MOST_SECONDS = 1 << 40
# The one that PyTorch names first.
_DEVICES = (
    ActivityType.CUDA,
    ActivityType.XPU,
    ActivityType.MTIA,
    ActivityType.HPU,
    ActivityType.PRIVATEUSE1,
)


class KinetoProfile(ProfileOutputs):
    """The options of a profile, and the trace that it records now. The arguments are those of `profile`."""

    _has_warned = False

    def __init__(
        self,
        *,
        activities: Iterable[object] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: ExperimentalConfig | None = None,
        execution_trace_observer: object = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        use_cuda: bool | None = None,
        calls: CallOptions | None = None,
        all_threads: bool = True,
        mode: Literal["record", "ring"] | None = None,
        ring_seconds: float | None = None,
        recording: RecordOptions | None = None,
        frameworks: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.acc_events = acc_events
        self.post_processing_timeout_s = post_processing_timeout_s
        self.calls = calls
        self.set_custom_trace_id_callback(custom_trace_id_callback)
        load_profile_side()
        from kinetograph.session import execution_trace
        from kinetograph.session import profile_options as options

        self._check_switches()
        self.execution_trace_observer = execution_trace.observer_from_environment(execution_trace_observer)
        self.frameworks = frameworks
        self.experimental_config = options.experimental_options(experimental_config)
        self.recording = options.recording_options(recording, mode, ring_seconds)
        self._plan = options.made_plan(self._config(), activities, use_cuda, all_threads)
        self.activities = set(self._plan.activities)
        self.profiler: Cycle | None = None
        """The cycle that runs, or was the last."""
        self._process = os.getpid()
        # One that a signal handler of the same thread may take again.
        self._lock = threading.RLock()

    @property
    def use_device(self) -> str | None:
        """The kind of device that is recorded beside the host."""
        return next((kind.name.lower() for kind in _DEVICES if kind in self.activities), None)

    def start(self) -> None:
        """Record from now on."""
        self.prepare_trace()
        self.start_trace()

    def stop(self) -> None:
        """End the trace."""
        self.stop_trace()

    def prepare_trace(self) -> None:
        """Put everything in place for a trace, which `start_trace` begins: warm-up. Nothing is kept yet."""
        with self._locked():
            if self._running_cycle() is not None:
                return
            from kinetograph.session.cycle import Cycle

            self._prepare(Cycle(self._plan, self._new_trace_id()))
            # Last, for it may be an error.
            if self._traces and not self.acc_events and not KinetoProfile._has_warned:
                KinetoProfile._has_warned = True
                warn_program(_CLEARS)

    def _prepare(self, cycle: Cycle) -> None:
        # Known before anything runs that an interrupt could leave on.
        previous, self.profiler = self.profiler, cycle
        try:
            cycle.prepare()
        except BaseException:
            if self._running_cycle() is None:
                self.profiler = previous
            raise

    def start_trace(self) -> None:
        """Record from now on, after `prepare_trace`, which is made up for if it was left out."""
        with self._locked():
            cycle = self._running_cycle()
            if cycle is not None and cycle.has_started:
                raise StateError("a trace is being recorded already", hint="stop_trace() ends it")
            self.prepare_trace()
            assert self.profiler is not None
            if self.execution_trace_observer is not None:
                self.execution_trace_observer.start()
            self.profiler.start()

    def stop_trace(self) -> None:
        """End the trace; `trace` is what it recorded. `on_trace_ready` is not called by this."""
        with self._locked():
            if not self._stop_cycle():
                raise StateError("no trace is being recorded", hint="start_trace() begins one")

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[object]) -> None:
        """Pause the trace that is being recorded, or go on with it; it tells of the pause.

        All its activities pause together: name all of them, or the CPU. Scopes that are open across a pause
        are whole. Without a trace nothing happens, and every trace begins with all its activities on.
        """
        require_bool("enable", enable)
        asked = members_of(ActivityType, activities, what="activities")
        others = sorted(activity.name for activity in asked - self._plan.activities)
        if others:
            warn_program(f"toggle_collection_dynamic: {', '.join(others)} is not recorded by this profile")
        if self._pauses_with(asked & self._plan.activities):
            with self._locked():
                cycle = self._running_cycle()
                if cycle is not None:
                    cycle.resume() if enable else cycle.pause()

    def _pauses_with(self, asked: frozenset[ActivityType]) -> bool:
        """Whether these are enough to name; says so where they are not."""
        if asked and ActivityType.CPU not in asked and asked != self._plan.activities:
            names = ", ".join(sorted(activity.name for activity in asked))
            warn_program(f"toggle_collection_dynamic: {names} is not switched alone; name the CPU as well")
            return False
        return bool(asked)

    # Cycles

    def _locked(self) -> AbstractContextManager[object]:
        """The lock. In a forked child a new one first: the old may be held by a thread that is not there."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._lock = threading.RLock()
            self._leave_parent()
        return self._lock

    def _leave_parent(self) -> None:
        """Forget what the parent records."""
        self.profiler = None

    def _running_cycle(self) -> Cycle | None:
        return self.profiler if self.profiler is not None and self.profiler.is_running else None

    def _stop_cycle(self) -> bool:
        cycle = self._running_cycle()
        if cycle is None or not cycle.has_started:
            return False
        try:
            self._tell_observer("stop")
        finally:
            self._take(cycle)
        return True

    def _take(self, cycle: Cycle) -> None:
        try:
            self._keep(cycle.stop())
            cycle.let_go()
        except BaseException:
            if cycle.is_recording and cycle.has_started:
                self._tell_observer("start")  # it goes on, too
            raise

    def _tell_observer(self, method: str) -> None:
        """Whatever it does: the program comes to what it was about to do, unless warnings are errors."""
        if self.execution_trace_observer is None:
            return
        try:
            getattr(self.execution_trace_observer, method)()
        except Exception as error:
            failed = f"{method}() of its observer failed: {spelled(error)}"
            warn_program(f"the execution trace may be missing, {failed}")

    def _discard_cycle(self) -> None:
        """End one that does not come to its trace. The first leaves an empty one, for who asks for events."""
        cycle = self._running_cycle()
        if cycle is None:
            return
        try:
            self._tell_observer("stop")
        finally:
            self._end_without_trace(cycle)

    def _end_without_trace(self, cycle: Cycle) -> None:
        if self._traces:
            cycle.discard()
            return
        self._take(cycle)
        if not cycle.has_started:
            self.trace.add_note("schedule", "the profile ended during warm-up, so nothing was recorded")

    # What was asked for

    def _config(self) -> ProfilerConfig:
        return ProfilerConfig(
            report_input_shapes=self.record_shapes,
            profile_memory=self.profile_memory,
            with_stack=self.with_stack,
            with_flops=self.with_flops,
            with_modules=self.with_modules,
            experimental_config=self.experimental_config,
            recording=self.recording,
            calls=self.calls,
            frameworks=framework_names(self.frameworks),
        )

    def _check_switches(self) -> None:
        for name in (
            "record_shapes",
            "profile_memory",
            "with_stack",
            "with_flops",
            "with_modules",
            "acc_events",
        ):
            require_bool(name, getattr(self, name))
        if self.post_processing_timeout_s is not None:
            seconds = self.post_processing_timeout_s
            require_positive(
                "post_processing_timeout_s", seconds, (int, float), "seconds", most=_MOST_SECONDS
            )

    def _new_trace_id(self) -> str:
        if self.custom_trace_id_callback is None:
            return ""
        trace_id = call_program(self.custom_trace_id_callback)
        require_text("custom_trace_id_callback()", trace_id, hint="return the id as a string")
        return trace_id

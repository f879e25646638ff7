"""`Session`: one window of recording, from start to the trace. Everything that records goes through here."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from kinetograph import _native
from kinetograph.checks import require_bool, require_callable, require_instance, spelled
from kinetograph.errors import StateError, warn_program
from kinetograph.hints import TYPE_CHECKING, Any
from kinetograph.session import calls as call_collector
from kinetograph.session import exits, observer
from kinetograph.session.activity import ActivityType, activity_set
from kinetograph.session.availability import require_available, shortfalls
from kinetograph.session.categories import ALL, INTRA_KERNEL, wanted_categories
from kinetograph.session.config import CallOptions, ProfilerConfig
from kinetograph.session.handover import call_program
from kinetograph.session.members import members_of
from kinetograph.session.scopes import load_python_side
from kinetograph.session.state import ProfilerState
from kinetograph.trace import RecordScope, Trace

if TYPE_CHECKING:
    from kinetograph.session.cuda import CudaUse
    from kinetograph.session.cuda_metrics import CudaMetrics
    from kinetograph.session.inside_kernels import InsideKernels
    from kinetograph.session.operators import Operators

__all__ = ["PostProcess", "Session", "describe"]

PostProcess = Callable[[Trace], object]

_FLAGS = {
    "report_input_shapes": "record_shapes",
    "profile_memory": "profile_memory",
    "with_stack": "with_stack",
    "with_modules": "with_modules",
    "with_flops": "with_flops",
}

_INTERRUPTED = "the stop was interrupted, so notes and what kernels recorded of themselves may be missing"


class Session:
    """A value: it starts once, in one thread or all, and stops once, in any thread of the same process.

    >>> session = Session.start(ProfilerConfig(), {ActivityType.CPU})
    >>> trace = session.stop()
    """

    def __init__(
        self,
        number: int,
        config: ProfilerConfig,
        activities: frozenset[ActivityType],
        scopes: int,
        post_process: PostProcess | None,
        exit_path: str | None,
    ) -> None:
        self._number = number
        self._config = config
        self._activities = activities
        self._scopes = scopes
        self._post_process = post_process
        self._calls: call_collector.Use | None = None
        self._cuda: CudaUse | CudaMetrics | None = None
        self._cuda_notes: list[str] = []
        self._is_paused = False
        self._operators: Operators | None = None
        self._inside: InsideKernels | None = None
        self._process = os.getpid()
        # One that a signal handler of the same thread may take again.
        self._stopping = threading.RLock()
        self._built: list[_native.Trace] = []
        self._trace: Trace | None = None
        self._left: list[Callable[[], object]] | None = None
        self._has_joined = False
        self._untold: list[tuple[str, str]] | None = None
        self._is_over = False
        self._distributed = _distributed_info()
        self._annotations_before = _native.own_annotations()
        self.exit_path = exit_path
        """Where the trace goes if the program ends before `stop`."""
        self.started_at = time.time()
        self.owner = threading.current_thread().name
        self.owner_tid = threading.get_native_id()
        self.all_threads = False
        self.has_begun = True
        """False for one that started paused, until it is resumed."""
        self.begin_ns = 0
        """Wall time; what was recorded before is no part of the trace."""
        self.categories = ALL
        """A bit for each that the trace may hold, of those that belong to the activities."""
        self._callback_errors = observer.ErrorLog()

    @classmethod
    def start(
        cls,
        config: ProfilerConfig,
        activities: Iterable[object] | None = None,
        scopes: Iterable[object] = (),
        all_threads: bool = True,
        post_process: PostProcess | None = None,
        starts_paused: bool = False,
        kept: list[Session] | None = None,
    ) -> Session:
        """Begin to record. Raises before anything happens if what is asked for is wrong or not available.

        One that starts paused has everything in place but begins with `resume`. It is in `kept` as soon as
        it runs, for who may be interrupted before they have what this returns.
        """
        require_instance("config", config, ProfilerConfig)
        require_bool("all_threads", all_threads)
        if post_process is not None:
            require_callable("post_process", post_process, hint="pass a function that takes the Trace")
        chosen = activity_set(activities)
        require_available(config, chosen)
        mask = _scope_mask(scopes)
        exit_path = config.recording.usable_path()
        directory = config.recording.usable_directory()
        load_python_side()
        if config.state.only_emits:
            from kinetograph.session.emitting_session import EmittingSession

            emitting = EmittingSession(config, chosen, mask, post_process, exit_path)
            if kept is not None:
                kept.append(emitting)
            emitting.begin(starts_paused)
            return emitting
        from kinetograph.session.native_start import start_native

        all_threads = all_threads or config.experimental_config.profile_all_threads
        # First, so that what takes time is not part of what is recorded: building, attaching to CUDA.
        operators = _operators(config, chosen)
        cuda = _cuda_use(config) if _wants_cuda(config, chosen) else None
        started: list[int] = []
        try:
            # Operators that another session watches already come with all that is asked for from the first.
            operators.start()
            start_native(started, config.recording, directory, all_threads, starts_paused)
            session = cls(started[0], config, chosen, mask, post_process, exit_path)
        except BaseException:
            for number in started:
                _native.discard_session(number)
            operators.release()
            if cuda is not None:
                cuda.release()
            raise
        session._operators = operators
        session._cuda = cuda
        try:
            session._begin(all_threads, starts_paused)
            if kept is not None:
                kept.append(session)
        except BaseException:
            session.discard()
            raise
        return session

    def _begin(self, all_threads: bool, starts_paused: bool) -> None:
        self._inside = self._inside_kernels()
        if self._cuda is not None and not starts_paused:
            self._cuda.resume()
        self.all_threads = all_threads
        self.has_begun = not starts_paused
        self._is_paused = starts_paused
        if self._config.wants_shapes:
            self._sessions_with_shapes().add(self)
        exits.watch(self)
        # Last, so that the calls that starting takes are not among those that are recorded.
        self._record_calls()

    @property
    def is_running(self) -> bool:
        return self._process == os.getpid() and _native.is_session_running(self._number)

    def go_on_in_child(self) -> None:
        """In a forked process, where it is open there."""
        self.owner_tid = os.getpid()

    @property
    def is_open(self) -> bool:
        """Whether it runs, or has a trace that nobody has taken: a stop was interrupted."""
        return self.is_running or (self._process == os.getpid() and bool(self._built) and not self._is_over)

    @property
    def device_has_stopped(self) -> bool:
        """Whether nothing more will come of what the GPU does, although it did."""
        return self._cuda is not None and self._cuda.has_given_up

    def follow_imports(self) -> None:
        """Record frameworks that the program imports later, too."""
        if self._operators is not None:
            self._operators.follow_imports(self._paused)

    @contextmanager
    def _paused(self) -> Iterator[None]:
        was_running = self.pause()
        try:
            yield
        finally:
            if was_running:
                self.resume()

    def join(self) -> None:
        """Let the calling thread take part."""
        _native.join_session(self._number)

    def leave(self) -> bool:
        """End the part of the calling thread; False if it had none."""
        return _native.leave_session(self._number)

    def pause(self) -> bool:
        """Keep nothing until `resume`; False if it is paused, or stopped, already. From any thread.

        What is open stays known, so a scope across the pause is one event. The trace tells of the pause.
        """
        if not self.is_running:
            return False
        if self._cuda is not None:
            self._cuda.pause()
        self._is_paused = True
        return _native.pause_session(self._number)

    def resume(self) -> bool:
        return self.resume_by(_native.resume_session)

    def resume_by(self, by: Callable[[int], bool]) -> bool:
        """`by` resumes the native session of this number; it may wait for the right time first."""
        if self._process != os.getpid() or not by(self._number):
            return False
        self.has_begun = True
        self._is_paused = False
        if self._cuda is not None:
            self._cuda.resume()
        return True

    def stop(self) -> Trace:
        """End the window and build its trace. The second call is an error, unless one was interrupted."""
        trace = self.finish()
        if not self.let_go():
            self._require_running()
        return trace

    def finish(self) -> Trace:
        """The same, and the same trace again until `let_go`: an interrupt may come before anybody has it."""
        self._require_own_process()
        with self._stopping:
            trace = self._finished_trace()
            self._enrich(trace)
        return trace

    def let_go(self) -> bool:
        """Its trace is where it belongs; False where it had been let go of before."""
        with self._stopping:
            is_first, self._is_over = not self._is_over, True
            self._built, self._trace = [], None
        exits.forget(self)
        return is_first

    def _finished_trace(self) -> Trace:
        if self._is_over or not self._built:
            self._require_running()
            self._end_window()
        if self._trace is None:
            self._trace = Trace(self._built[0])
        trace = self._trace  # before anything runs that a signal handler's stop may come between
        if self._left is None:
            self._left = [
                lambda: self._join_kernels(trace),
                *self._parts(),
                lambda: self._describe(trace),
            ]
        self._do_what_is_left()
        return trace

    def _end_window(self) -> None:
        try:
            self._stop_native()
        except BaseException as error:
            if self._is_over and isinstance(error, Exception):
                self._require_running()
            if not self._built:
                self._go_on()
            raise
        if self._is_over:  # by a stop of a signal handler
            self._require_running()

    def _go_on(self) -> None:
        """As if nobody had tried to stop it, if it still runs."""
        if not self.is_running:
            return self.discard()
        _native.hold_ring(self._number, False)
        if self._cuda is not None and not self._is_paused:
            self._cuda.resume()

    def _stop_native(self) -> None:
        """Everything that any session wanted is recorded: here this one says what it wants of that."""
        self._look_around()
        if self._operators is not None:
            self._operators.settle()
        calls = self._config.wanted_calls or CallOptions()
        _native.stop_session(
            self._number,
            self._built,
            categories=wanted_categories(
                self._activities,
                with_calls=self._wants_call_events,
                with_metrics=self._cuda is not None and self._cuda.counts,
                with_samples=self._cuda is not None and self._cuda.samples_counters,
            )
            & self.categories,
            scopes=self._scopes,
            input_shapes=self._config.wants_shapes,
            flops=self._config.with_flops,
            stacks=self._config.wants_scope_stacks,
            samples=self._wants_samples,
            device_work=self._cuda is not None and not self._cuda.times_scopes,
            device_waits=self._cuda is not None and self._cuda.synchronization,
            device_memory=self._cuda is not None and self._cuda.memory,
            whole_graphs=self._config.experimental_config.cuda_graphs == "launches",
            timed_scopes=self._cuda is not None and self._cuda.times_scopes,
            functions=self._calls is not None and (self._calls.traces or self._calls.samples),
            garbage=self._calls is not None and self._calls.garbage_collection,
            objects=self._config.with_modules,
            c_calls=calls.c_calls,
            call_lines=calls.call_lines,
            min_call_ns=calls.min_duration_ns,
            max_depth=calls.traced_depth,
            include=calls.include,
            exclude=calls.exclude,
            begin_ns=self.begin_ns,
        )

    def _inside_kernels(self) -> InsideKernels:
        from kinetograph.session.inside_kernels import InsideKernels

        return InsideKernels(
            on_device=self._cuda is not None and not self._cuda.counts,
            on_host=ActivityType.CPU in self._activities,
            limit_bytes=self._config.recording.memory_limit_bytes,
        )

    def _join_kernels(self, trace: Trace) -> None:
        """What kernels recorded of themselves. After the window, so that reading it is no part of that."""
        if self._inside is None:
            return
        if self._has_joined:  # what there is would be told twice
            trace.add_note("interrupted", _INTERRUPTED)
            return
        self._has_joined = True
        try:
            if self.categories & 1 << INTRA_KERNEL:
                self._inside.join(trace)
        except Exception as error:
            trace.add_note("intra_kernel", f"records from inside kernels are missing: {spelled(error)}")

    def discard(self) -> None:
        """End the window and keep nothing of it; one that has ended already stays as it is."""
        if self._process != os.getpid():
            return
        with self._stopping:
            if self.is_running:
                _native.discard_session(self._number)
            self.let_go()
        if self._left is None:
            self._left = list(self._parts())
        self._do_what_is_left()

    def _do_what_is_left(self) -> None:
        """Let go of the collectors, and tell the trace; again behind an interrupt, of what was not done."""
        while self._left:
            for part in self._left[:1]:  # a stop of a signal handler may come between, and do all of them
                part()
                if part in self._left:
                    self._left.remove(part)

    def _parts(self) -> Iterator[Callable[[], object]]:
        """What lets go of each. To call one twice does nothing more."""
        if self._inside is not None:
            yield self._inside.close
        if self._operators is not None:
            yield self._operators.release
        if self._cuda is not None:
            yield self._cuda.release
        yield self._release_calls
        yield self._callback_errors.close
        yield partial(self._sessions_with_shapes().discard, self)

    @staticmethod
    def _sessions_with_shapes() -> set[object]:
        from kinetograph.session.details import sessions_with_shapes

        return sessions_with_shapes

    def _release_calls(self) -> None:
        call_collector.release_calls(self._calls)

    def _require_own_process(self) -> None:
        if self._process != os.getpid():
            raise StateError(
                f"this session records process {self._process}, and this is process {os.getpid()}",
                hint="a forked child starts without sessions: start one of its own there",
            )

    def _require_running(self) -> None:
        if not self.is_running:
            raise StateError("this session has been stopped already", hint="start a new one")

    def _record_calls(self) -> None:
        calls = self._config.wanted_calls
        is_traced = calls is not None and calls.mode == "trace"
        garbage_collection = is_traced or self._config.experimental_config.record_python_gc_info
        self._calls = call_collector.record_calls(
            calls,
            garbage_collection=garbage_collection,
            scope_stacks=self._config.wants_scope_stacks,
            modules=self._config.with_modules,
        )

    @property
    def _wants_call_events(self) -> bool:
        use = self._calls
        return use is not None and (use.hooks or use.garbage_collection)

    @property
    def _wants_samples(self) -> bool:
        return self._calls is not None and self._calls.samples and ActivityType.CPU in self._activities

    def _enrich(self, trace: Trace) -> None:
        """An error of the program's own function is told, and costs it nothing that was recorded.

        What asks the program to end, such as Ctrl-C, goes on; then the trace is there for another stop, or
        for the exit.
        """
        post_process, self._post_process = self._post_process, None
        if post_process is None:
            return
        try:
            call_program(post_process, trace)
        except BaseException as error:
            name = getattr(post_process, "__qualname__", "post_process")
            text = f"{name} raised {spelled(error)}, so the trace may be enriched in part only"
            trace.add_note("post_process", text)
            if not isinstance(error, Exception):
                raise
            warn_program(f"post_process: {text}", RuntimeWarning)

    def _describe(self, trace: Trace) -> None:
        describe(trace, self._config)
        # Ranks are often given after the start, and may be gone at the end.
        distributed = _distributed_info() or self._distributed
        if distributed is not None:
            trace.metadata["distributedInfo"] = distributed
        if self._untold is None:
            self._untold = list(self._notes())
        while self._untold:
            trace.add_note(*self._untold[0])
            del self._untold[0]

    def leave_notes(self) -> None:
        """At the end of a process in which nobody stops the session: what a stop would tell, in its file."""
        self._look_around()
        for kind, sentence in self._notes():
            _native.tell_note(kind, sentence)

    def leave_kernels(self, path: str) -> None:
        """Likewise, what kernels recorded of themselves, in a file of its own if there is anything."""
        if self._inside is None:
            return
        try:
            for sentence in self._inside.leave(path):
                _native.tell_note("intra_kernel", sentence)
        except Exception as error:
            _native.tell_note("intra_kernel", f"records from inside kernels are missing: {spelled(error)}")

    def _look_around(self) -> None:
        from kinetograph.session.thread_names import suggest_thread_names

        # Or a ring would go on, and lose what the program did to what is told of it only now.
        _native.hold_ring(self._number, True)
        suggest_thread_names()
        if self._calls is not None:
            self._calls.look_around()
        # Brings in what devices have done; what the host does needs none of that. It may wait for them.
        if self._cuda is not None and self._process == os.getpid():
            self._cuda.pause()
        self._cuda_notes = [] if self._cuda is None else list(self._cuda.notes())

    def _missed_annotations(self) -> Iterator[str]:
        from kinetograph.injection import missed

        return missed(self._annotations_before)

    def _notes(self) -> Iterator[tuple[str, str]]:
        """Kinds and texts."""
        if self._calls is not None:
            yield from self._calls.notes()
        if self._operators is not None:
            yield from self._operators.notes()
        for sentence in self._cuda_notes:
            yield "cuda", sentence
        if ActivityType.CPU in self._activities:
            yield from (("annotations", sentence) for sentence in self._missed_annotations())
        if not self._activities:
            yield "activities", "no activity was chosen, so nothing is recorded"
        yield from self._callback_notes()

    def _callback_notes(self) -> Iterator[tuple[str, str]]:
        return (("callback", sentence) for sentence in self._callback_errors.close())


def describe(trace: Trace, config: ProfilerConfig) -> None:
    """Say in the trace where and how it was recorded."""
    trace.metadata["trace_id"] = config.trace_id or os.urandom(16).hex().upper()
    trace.metadata["host_name"] = os.uname().nodename
    for option, key in _FLAGS.items():
        if getattr(config, option):
            trace.metadata[key] = 1
    for sentence in shortfalls(config):
        trace.add_note("partial", sentence)


def _wants_cuda(config: ProfilerConfig, activities: frozenset[ActivityType]) -> bool:
    return config.state.times_scopes or (
        ActivityType.CUDA in activities and config.state is not ProfilerState.CPU
    )


def _cuda_use(config: ProfilerConfig) -> CudaUse | CudaMetrics:
    wanted = config.experimental_config
    if wanted.profiler_metrics:
        from kinetograph.session.cuda_metrics import CudaMetrics

        return CudaMetrics(wanted.profiler_metrics, per_kernel=wanted.profiler_measure_per_kernel)
    from kinetograph.session.cuda import CudaUse

    use = CudaUse(
        synchronization=wanted.enable_cuda_sync_events,
        memory=config.profile_memory,
        crash_safe=config.recording.crash_safe,
        memory_limit_bytes=config.recording.memory_limit_bytes,
        by_events=config.state.times_scopes,
    )
    if wanted.pm_sampling_metrics:
        use.sample(wanted.pm_sampling_metrics, interval_ns=wanted.pm_sampling_interval_ns)
    return use


def _operators(config: ProfilerConfig, activities: frozenset[ActivityType]) -> Operators:
    from kinetograph.session.operators import Operators

    return Operators(config, activities)


def _distributed_info() -> dict[str, Any] | None:
    from kinetograph.session.distributed import distributed_info

    return distributed_info()


def _scope_mask(scopes: Iterable[object]) -> int:
    return sum(1 << scope for scope in members_of(RecordScope, scopes, what="scopes"))

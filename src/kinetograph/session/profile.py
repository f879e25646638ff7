"""`profile`: record a program, or chosen steps of it. Takes what `torch.profiler.profile` takes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from types import TracebackType

from kinetograph._native import end_where_open, ends_block
from kinetograph.checks import require_callable
from kinetograph.errors import StateError, warn_program
from kinetograph.hints import TYPE_CHECKING, Any, Literal, Self
from kinetograph.session.config import CallOptions, ExperimentalConfig, RecordOptions
from kinetograph.session.handover import call_program
from kinetograph.session.kineto_profile import KinetoProfile
from kinetograph.session.schedule import (
    ProfilerAction,
    Schedule,
    asked_action,
    complaint,
    record_always,
    transition,
)
from kinetograph.session.scopes import scope
from kinetograph.session.step_tracker import KinetoStepTracker
from kinetograph.trace.words import RecordScope

if TYPE_CHECKING:
    from kinetograph.session.cycle import Cycle

__all__ = ["profile"]


class profile(KinetoProfile):  # noqa: N801  (PyTorch's name)
    """Record what the program does between `start` and `stop`, on all threads.

    >>> with kg.profile() as p:
    ...     work()
    >>> p.export_chrome_trace("trace.json.gz")

    With a `schedule` only chosen steps are recorded; `step` says where one ends and the next begins, and
    `on_trace_ready` is called with the profile at the end of each cycle:

    >>> with kg.profile(
    ...     schedule=kg.schedule(wait=5, warmup=1, active=3),
    ...     on_trace_ready=kg.tensorboard_trace_handler("traces"),
    ... ) as p:
    ...     for batch in batches:
    ...         train(batch)
    ...         p.step()

    `activities` are members of `kg.ActivityType` or of PyTorch's enum, or their names; a dict
    `{activity: [type, ...]}` keeps only events of these types. `mode`, `ring_seconds` and `recording` say how
    events are kept, as `kg.RecordOptions` does. Between cycles nothing is recorded and nothing is slower.
    """

    def __init__(
        self,
        *,
        activities: Iterable[object] | None = None,
        schedule: Schedule | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: ExperimentalConfig | None = None,
        execution_trace_observer: object = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        calls: CallOptions | None = None,
        all_threads: bool = True,
        mode: Literal["record", "ring"] | None = None,
        ring_seconds: float | None = None,
        recording: RecordOptions | None = None,
        frameworks: Sequence[str] | None = None,
    ) -> None:
        if use_cuda is not None:
            text = "`use_cuda` is deprecated, use `activities` argument instead"
            warn_program(text, FutureWarning)
        if schedule is not None:
            require_callable(
                "schedule", schedule, hint="kg.schedule(wait=..., warmup=..., active=...) makes one"
            )
        if on_trace_ready is not None:
            require_callable("on_trace_ready", on_trace_ready, hint="pass a function that takes the profile")
        super().__init__(
            activities=activities,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            experimental_config=experimental_config,
            execution_trace_observer=execution_trace_observer,
            acc_events=acc_events,
            custom_trace_id_callback=custom_trace_id_callback,
            post_processing_timeout_s=post_processing_timeout_s,
            use_cuda=use_cuda,
            calls=calls,
            all_threads=all_threads,
            mode=mode,
            ring_seconds=ring_seconds,
            recording=recording,
            frameworks=frameworks,
        )
        self.on_trace_ready = on_trace_ready
        self.schedule = record_always if schedule is None else schedule
        self.record_steps = schedule is not None
        self.step_num = 0
        self.current_action = self._asked = asked_action(self.schedule, 0)
        self._is_started = False
        self._was_started = False
        self._step: tuple[scope, int] | None = None
        self._is_busy = self._stop_asked = False
        """In the midst of a step or a stop, behind which a signal handler has asked for another stop."""
        self._owed: Cycle | None = None
        """Once it has ended, `on_trace_ready` has to be called, by the next step or stop if need be."""

    def __enter__(self) -> Self:
        self.start()
        return self

    @ends_block
    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.stop()
        except BaseException:
            self._stop_at_last()
            raise

    def start(self) -> None:
        """Begin with the step the profile is at. A stopped profile may be started again."""
        with self._locked():
            if self._is_started:
                raise StateError(
                    "this profile has been started already", hint="stop() it first, or make another"
                )
            self._is_busy = self._is_started = self._was_started = True
            self._stop_asked = False
            try:
                self._begin()
            finally:
                self._is_busy = False
                if self._stop_asked:
                    self.stop()

    def stop(self) -> None:
        """End the profile, from any thread, and call `on_trace_ready` if it was recording.

        The second call does nothing, unless the first was interrupted or found no memory, and neither does
        any in a forked child, which is not recorded. One by a signal handler, in the midst of a step or
        another stop, is made as soon as that is done.
        """
        with self._locked():
            if not self._was_started:
                raise StateError(
                    "stop() of a profile that was never started", hint="call start(), or use `with`"
                )
            if self._is_busy:
                self._stop_asked = True
                return
            self._is_busy = True
            try:
                if self._is_started:
                    self._end_step()
                    self._end_last_cycle()
                trace_is_ready = self._is_owed()
                if trace_is_ready:
                    self._owed = None
                self._stop_asked = False
            finally:
                self._is_busy = False
        # Without the lock: it may wait for a thread that is about to call `step`.
        if trace_is_ready:
            self._call_handler()

    def step(self) -> None:
        """Say that the next step begins. After `stop` nothing happens, and before `start` a warning tells.

        If the schedule raises, the profile ends as by `stop`; if `on_trace_ready` does, its cycle is over and
        the next step goes on.
        """
        with self._locked():
            if not self._was_started:
                warn_program("step() of a profile that was never started: nothing is recorded")
            if not self._is_started:
                return
            self._is_busy = True
            try:
                text = self._go_on()
            finally:
                self._is_busy = False
                if self._stop_asked:
                    self.stop()
        # Last, for it may be an error.
        if text is not None:
            warn_program(text)

    def __repr__(self) -> str:
        state = "running" if self._is_started else "stopped" if self._was_started else "new"
        return f"<profile: {state}, step {self.step_num}, {self.current_action.name}>"

    # From step to step

    def _begin(self) -> None:
        try:
            KinetoStepTracker.init_step_count(self._requester)
            self._perform(transition(ProfilerAction.NONE, self.current_action))
            self._begin_step()
        except BaseException:
            self._end_step()
            self._end()
            raise

    def _go_on(self) -> str | None:
        """To the next step; what is to be complained of."""
        if self._is_owed():
            self._trace_ready()
        if not self._goes_on():
            return None
        self._end_step()
        before, cycle = self.current_action, self._running_cycle()
        asked = self._next_asked()
        action = self._possible(before, self._asked, asked)
        text, deeds = self._complaint(before, action), transition(before, action)
        try:
            self.step_num, self._asked, self.current_action = self.step_num + 1, asked, action
            self._perform(deeds)
        except BaseException:
            if cycle is not None and cycle is self._running_cycle():
                self.current_action = _where_it_is(cycle, before, action, deeds)
            if text is not None:
                with suppress(Warning):
                    warn_program(text)
            raise
        finally:
            if self._goes_on():
                KinetoStepTracker.increment_step(self._requester)
                self._begin_step()
        return text

    def _goes_on(self) -> bool:
        """Nobody has stopped it meanwhile, and this is no child that was forked meanwhile."""
        return self._is_started and not self._stop_asked and self._process == os.getpid()

    def _next_asked(self) -> ProfilerAction:
        try:
            return asked_action(self.schedule, self.step_num + 1)
        except BaseException:
            self._stop_asked = True
            raise

    def _possible(
        self, before: ProfilerAction, asked_before: ProfilerAction, asked: ProfilerAction
    ) -> ProfilerAction:
        """What was asked for, unless the device's collector gave up: then the rest of the cycle is lost."""
        if before is ProfilerAction.DEVICE_STOPPED:
            is_new_cycle = asked_before is ProfilerAction.RECORD_AND_SAVE or asked is ProfilerAction.NONE
            return asked if is_new_cycle else before
        is_open = before in (ProfilerAction.WARMUP, ProfilerAction.RECORD)
        has_stopped = is_open and asked is not ProfilerAction.NONE and self._device_has_stopped()
        return ProfilerAction.DEVICE_STOPPED if has_stopped else asked

    def _complaint(self, before: ProfilerAction, action: ProfilerAction) -> str | None:
        if action is ProfilerAction.DEVICE_STOPPED is not before:
            return (
                "the device's collector stopped early,"
                f" at step {self.step_num + 1}: nothing more of this cycle"
            )
        return complaint(before, action)

    def _device_has_stopped(self) -> bool:
        cycle = self._running_cycle()
        return cycle is not None and cycle.device_has_stopped

    def _end_last_cycle(self) -> None:
        action, self.current_action = self.current_action, self._asked
        try:
            if "ready" in transition(action, None):
                self._owe_handler()
                self._stop_cycle()
            self._end()
        except BaseException:
            if self._running_cycle() is None:
                self._end()
            else:  # what was recorded is there for the next stop
                self.current_action = action
            raise
        finally:
            if not self._is_started:
                self._tell_observer("cleanup")

    def _perform(self, deeds: tuple[str, ...]) -> None:
        for number, deed in enumerate(deeds):
            if deed == "prepare":
                self.prepare_trace()
            elif deed == "start":
                self.start_trace()
            elif deed == "discard":
                self._discard_cycle()
            elif deed == "stop":
                if "ready" in deeds:
                    self._owe_handler()
                self._stop_cycle()
            elif deed == "ready":
                # Whatever the handler does, what comes behind it is done, unless it has stopped us.
                try:
                    if self._is_owed():
                        self._trace_ready()
                finally:
                    if self._goes_on():
                        self._perform(deeds[number + 1 :])
                return

    def _owe_handler(self) -> None:
        cycle = self._running_cycle()
        if cycle is not None and cycle.has_started:
            self._owed = cycle

    def _is_owed(self) -> bool:
        """Whether a cycle has ended whose handler is to be called."""
        return self._owed is not None and not self._owed.is_running

    def _trace_ready(self) -> None:
        """From a step, which the handler may end by `stop`, and so may that of a signal meanwhile."""
        self._owed, self._is_busy = None, False
        try:
            self._call_handler()
        finally:
            self._is_busy = True

    def _call_handler(self) -> None:
        if self.on_trace_ready is not None:
            call_program(self.on_trace_ready, self)

    def _stop_at_last(self) -> None:
        """Behind a stop that failed at the end of a block, where nobody else will make it again."""
        try:
            if self._is_started or self._owed is not None:
                self.stop()
        finally:
            with self._locked():
                cycle = self._running_cycle()
                if cycle is not None:
                    self._owed = None
                    cycle.discard()
                    self._end()

    def _end(self) -> None:
        try:
            self._discard_cycle()
        finally:
            if self._running_cycle() is None:
                self._is_started = False
                KinetoStepTracker.erase_step_count(self._requester)

    def _leave_parent(self) -> None:
        super()._leave_parent()
        self._is_started = self._is_busy = self._stop_asked = False
        self._step = self._owed = None

    # Marks of the steps

    def _begin_step(self) -> None:
        if self.record_steps:
            # With a kind, for scopes that have but a name are kept for ever.
            span = scope(f"ProfilerStep#{self.step_num}", kind=RecordScope.USER_SCOPE)
            self._step = span, threading.get_ident()
            span.__enter__()

    def _end_step(self) -> None:
        """In another thread than it began in, the span stays open there: it ends with the trace."""
        step, self._step = self._step, None
        if step is not None and step[1] == threading.get_ident():
            end_where_open(step[0])

    @property
    def _requester(self) -> str:
        return f"ProfilerStep@{id(self):x}"


def _where_it_is(
    cycle: Cycle, before: ProfilerAction, action: ProfilerAction, deeds: tuple[str, ...]
) -> ProfilerAction:
    """An interrupt came between two actions, and the cycle has not ended."""
    if before is ProfilerAction.WARMUP and not cycle.has_started:
        return before
    if "stop" in deeds:
        return ProfilerAction.RECORD if before is ProfilerAction.WARMUP else before
    return action

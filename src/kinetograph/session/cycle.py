"""One trace of a profile, from warm-up to its end: what `profile.profiler` is."""

from __future__ import annotations

import os
from typing import Any

from kinetograph.errors import StateError
from kinetograph.session.profile_options import Plan
from kinetograph.session.recording import Session
from kinetograph.trace import Trace
from kinetograph.trace.events import Events

__all__ = ["Cycle"]


class Cycle:
    """Once it is prepared everything is in place, and nothing is kept until `start`."""

    def __init__(self, plan: Plan, trace_id: str = "") -> None:
        self.trace_id = trace_id or os.urandom(16).hex().upper()
        self._plan = plan
        self._trace: Trace | None = None
        self._prepared: list[Session] = []

    def prepare(self) -> None:
        """Wherever an interrupt comes, the session either does not run or is known here."""
        Session.start(
            self._plan.config.replace(trace_id=self.trace_id),
            self._plan.activities,
            all_threads=self._plan.all_threads,
            starts_paused=True,
            kept=self._prepared,
        )

    @property
    def _session(self) -> Session:
        if not self._prepared:
            raise StateError("this trace was never prepared", hint="ask the profile, which start() prepares")
        return self._prepared[0]

    @property
    def is_running(self) -> bool:
        """Whether it records, or is ready to, or has a trace that nobody has taken."""
        return bool(self._prepared) and self._session.is_open

    @property
    def is_recording(self) -> bool:
        """Or is ready to."""
        return bool(self._prepared) and self._session.is_running

    @property
    def has_started(self) -> bool:
        return bool(self._prepared) and self._session.has_begun

    @property
    def device_has_stopped(self) -> bool:
        return bool(self._prepared) and self._session.device_has_stopped

    def start(self) -> None:
        self._session.categories = self._plan.categories
        self._session.resume()

    def stop(self) -> Trace:
        """The same again if it is called again; it ends with `let_go`."""
        self._trace = self._session.finish()
        return self._trace

    def let_go(self) -> None:
        """Its trace is where it belongs, so an interrupted stop needs not be made again."""
        self._session.let_go()

    def discard(self) -> None:
        self._session.discard()

    def pause(self) -> None:
        self._session.pause()

    def resume(self) -> None:
        """After a pause; one that has not started does not start by this."""
        if self.has_started:
            self._session.resume()

    # What programs ask of torch.autograd.profiler.profile, which stands here in PyTorch.

    @property
    def trace(self) -> Trace:
        if self._trace is None:
            raise StateError(
                "this trace has not been finished", hint="ask after stop(), or in on_trace_ready"
            )
        return self._trace

    @property
    def function_events(self) -> Events:
        return self.trace.events

    def key_averages(self, *args: Any, **options: Any) -> Any:
        return self.trace.key_averages(*args, **options)

    def table(self, *args: Any, **options: Any) -> str:
        return self.function_events.table(*args, **options)

    def total_average(self) -> Any:
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        return self.function_events.self_cpu_time_total

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        self.function_events.export_chrome_trace(path)

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        self.function_events.export_stacks(path, metric)

    def __repr__(self) -> str:
        if self._trace is not None:
            return f"<Cycle {self.trace_id}: {self._trace!r}>"
        state = "recording" if self.has_started else "prepared"
        return f"<Cycle {self.trace_id}: {state if self.is_running else 'discarded'}>"

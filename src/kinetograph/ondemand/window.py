"""When a capture warms up, begins and ends. Told times and steps it says what is due, and does nothing."""

from __future__ import annotations

from kinetograph.errors import UsageError
from kinetograph.ondemand.request import CaptureRequest

__all__ = ["Window"]

# What is ready costs the program something, and making it ready takes time: more where threads of the program
# fight for the GIL.
_WARM_UP_NS = 1_000_000_000
_OLDEST_START_NS = 10_000_000_000
_LATEST_START_NS = 24 * 3600 * 1_000_000_000
_LONG_NS = 3600 * 1_000_000_000


class Window:
    """Times are those of the monotonic clock, in nanoseconds, but for the one that the request names."""

    def __init__(self, request: CaptureRequest, step: int, now_ns: int, wall_ns: int) -> None:
        self.first_step = request.first_step(step) if request.starts_at_step else None
        wait_ns = 0 if request.start_time_ns is None else request.start_time_ns - wall_ns
        if not -_OLDEST_START_NS <= wait_ns <= _LATEST_START_NS:
            when = f"{abs(wait_ns) / 1e9:.0f} s {'ago' if wait_ns < 0 else 'from now'}"
            raise UsageError(f"start_time_ns is {when}", hint="are the clocks of both hosts right?")
        self._start_ns = now_ns + wait_ns
        self._steps = request.steps
        self._duration_ns = request.window_ns
        self.is_warm = False
        self.begun_ns: int | None = None
        self.begun_step = 0
        self.is_over = False

    @property
    def counts_steps(self) -> bool:
        """Steps may be due to begin or end it."""
        return self.first_step is not None

    def wants_warm_up(self, now_ns: int, step: int) -> bool:
        if self.is_warm:
            return False
        if self.first_step is not None:
            return step >= self.first_step - 1
        return now_ns >= self._start_ns - _WARM_UP_NS

    def wants_begin(self, now_ns: int, step: int, *, between_steps: bool) -> bool:
        """Steps are recorded whole: one that went by before everything was ready is not begun late.

        What begins at a time is begun by the thread of the capture.
        """
        if not self.is_warm or self.begun_ns is not None or self.is_over:
            return False
        if self.first_step is not None:
            return between_steps and step >= self.first_step
        return not between_steps and now_ns >= self._start_ns

    def begin(self, now_ns: int, step: int) -> None:
        self.begun_ns, self.begun_step = now_ns, step

    def wants_end(self, now_ns: int, step: int) -> bool:
        if self.begun_ns is None or self.is_over:
            return False
        if self._steps is not None:
            return step >= self.begun_step + self._steps
        return now_ns >= self.begun_ns + self._duration_ns

    def quiet_ns(self, now_ns: int) -> int:
        """For how long nothing is due, unless a step comes."""
        due_ns = now_ns + _LONG_NS
        if self.begun_ns is not None and self._steps is None:
            due_ns = self.begun_ns + self._duration_ns
        elif self.begun_ns is None and self.first_step is None:
            due_ns = self._start_ns - (0 if self.is_warm else _WARM_UP_NS)
        return max(0, due_ns - now_ns)

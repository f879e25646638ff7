"""Sessions of ProfilerState.NVTX and ITT: scopes go to another tool, and the trace is empty."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from kinetograph import _native
from kinetograph.session import observer
from kinetograph.session.activity import ActivityType
from kinetograph.session.config import ProfilerConfig, RecordOptions
from kinetograph.session.emission import emit_itt, emit_nvtx
from kinetograph.session.native_start import start_native
from kinetograph.session.recording import PostProcess, Session
from kinetograph.session.state import ProfilerState

__all__ = ["EmittingSession"]


class EmittingSession(Session):
    """Sends from its begin to its stop, in all threads. The recorder knows nothing of it."""

    def __init__(
        self,
        config: ProfilerConfig,
        activities: frozenset[ActivityType],
        scopes: int,
        post_process: PostProcess | None,
        exit_path: str | None,
    ) -> None:
        super().__init__(0, config, activities, scopes, post_process, exit_path)
        emit = emit_nvtx if config.state is ProfilerState.NVTX else emit_itt
        calls = config.wanted_calls
        self._emission = emit(
            record_shapes=config.report_input_shapes,
            with_calls=calls is not None and calls.mode == "trace",
        )
        self._emission.kinds = scopes or self._emission.kinds
        self._has_tool = False
        self._numbers: list[int] = []
        self._is_running = True
        self.all_threads = True
        self.has_begun = False

    def begin(self, starts_paused: bool) -> None:
        """Apart from the construction, so that whoever an interrupt may reach knows the session by then."""
        try:
            if not starts_paused:
                self.resume()
        except BaseException:
            self.discard()
            raise

    def _send(self) -> None:
        self._emission.start()
        self._has_tool |= _native.emits_to(itt=self._config.state is ProfilerState.ITT)

    @property
    def is_running(self) -> bool:
        """In a forked child as well, which goes on to send until it stops for itself."""
        return self._is_running and not self._is_over

    def go_on_in_child(self) -> None:
        """Without what another thread held, or an interrupted stop had begun, in the parent."""
        super().go_on_in_child()
        self._stopping = threading.RLock()
        self._numbers.clear()
        self._callback_errors = observer.ErrorLog()

    def _require_own_process(self) -> None:
        """What sends is in each process."""

    def join(self) -> None:
        """All threads take part already."""

    def leave(self) -> bool:
        return False

    def pause(self) -> bool:
        was_on = self._emission.is_on
        self._emission.stop()
        return was_on

    def resume(self) -> bool:
        self.has_begun = True
        if not self.is_running or self._emission.is_on:
            return False
        self._send()
        return True

    def discard(self) -> None:
        with self._stopping:
            self._emission.stop()
            self._is_running = False
        super().discard()

    def _stop_native(self) -> None:
        self._emission.stop()
        # A trace of nothing says when and where that was.
        if not self._numbers:
            start_native(self._numbers, RecordOptions(), None, False, True)
        _native.stop_session(self._numbers[0], self._built, categories=0)
        self._is_running = False

    def _notes(self) -> Iterator[tuple[str, str]]:
        where = self._config.state.name
        sent = f"scopes were sent to the {where} tool" if self._has_tool else f"no {where} tool was there"
        yield "emission", f"ProfilerState.{where}: {sent}, and no scope was recorded"
        yield from self._callback_notes()

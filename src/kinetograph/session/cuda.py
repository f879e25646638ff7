"""GPU work and CUDA calls for one session. All share the collector, which does what any of them wants."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kinetograph import _native
from kinetograph.errors import StateError
from kinetograph.fork_locks import hold_across_forks
from kinetograph.session.cuda_events import ScopeTimes
from kinetograph.session.cuda_library import cupti_libraries

if TYPE_CHECKING:
    from kinetograph.session.cuda_samples import CounterSamples

__all__ = ["CudaUse", "torch_is_capturing"]

_WAITING = 1
_REFUSED = 3

_TORCH_IS_RUNNING = (
    "another tool uses CUPTI, which allows only one: torch.profiler was running when this session began"
)
_TORCH_KEEPS_CUPTI = (
    "if torch.profiler has run in this process: up to 2.11, torch keeps CUPTI from then on,"
    " unless TEARDOWN_CUPTI=1 is in the environment when torch is imported (then the program has to call CUDA"
    " once more behind its last profile, say torch.cuda.synchronize(), or torch hangs at its end)"
)

# Those to which CUPTI may yet be refused: the program may initialise CUDA after they began.
_hopeful: set[CudaUse] = set()
_lock = threading.RLock()


class CudaUse:
    """What one session wants of CUDA while it runs.

    Begins now if the program has initialised CUDA, and else as soon as it does. Nothing here makes the
    program initialise it, and nothing fails: what cannot be had is told in the trace. Where CUPTI belongs to
    another tool, or with `by_events`, scopes are timed by CUDA events, and nothing else is recorded.
    """

    counts = False
    """Whether hardware metrics are measured, which `CudaMetrics` does instead."""

    def __init__(
        self,
        *,
        synchronization: bool,
        memory: bool = False,
        crash_safe: bool = False,
        memory_limit_bytes: int = 1 << 30,
        by_events: bool = False,
    ) -> None:
        self.synchronization = synchronization
        self.memory = memory
        self._number: int | None = None
        self._scope_times: ScopeTimes | None = None
        self._refusal = ""
        self._samples: CounterSamples | None = None
        # It may record without being known to CUPTI, so that CUPTI would let us take its place.
        self._stands_back = not by_events and _torch_is_profiling()
        if not by_events and not self._stands_back:
            self._number = _native.start_cuda(
                synchronization=synchronization,
                memory=memory,
                crash_safe=crash_safe,
                memory_limit_bytes=memory_limit_bytes,
                libraries=cupti_libraries(),
            )
        if self._number is None:
            self._scope_times = ScopeTimes()
        else:
            _hopeful.add(self)
            fall_back()

    def sample(self, metrics: Sequence[str], *, interval_ns: int) -> None:
        """Sample hardware counters as well. Raises what is wrong with that, and then this is released."""
        from kinetograph.session.cuda_samples import PM_SAMPLING, CounterSamples

        try:
            if self._number is None:
                raise StateError(
                    f"{PM_SAMPLING.name} cannot be measured: {_TORCH_IS_RUNNING}",
                    hint="end the other one first",
                )
            self._samples = CounterSamples(metrics, interval_ns=interval_ns)
        except BaseException:
            self.release()
            raise

    @property
    def samples_counters(self) -> bool:
        return self._samples is not None

    @property
    def times_scopes(self) -> bool:
        """By events, instead of recording what the GPU does."""
        return self._scope_times is not None

    @property
    def has_given_up(self) -> bool:
        """Whether CUPTI was ours and was taken over, or does not work any more: nothing more comes of it."""
        return self._number is not None and not self.times_scopes and _native.cuda_is_taken_over()

    def pause(self) -> None:
        """Bring in what the GPU has done so far. Waits for what it is still doing."""
        if self._scope_times is not None:
            self._scope_times.flush()
        if self._number is not None:
            _native.flush_cuda(self._number, may_wait=not torch_is_capturing())
            fall_back()  # a flush may be the first to see that the program has initialised CUDA
        if self._samples is not None:
            self._samples.pause()

    def resume(self) -> None:
        """Sample again; what else happens in a pause is left out when the trace is made."""
        if self._samples is not None:
            self._samples.resume()

    def fall_back(self) -> None:
        """Time scopes from now on, if CUPTI has been refused."""
        with _lock:
            # In this order: the native side may call for the same while it is asked.
            if self._is_refused() and self in _hopeful:
                _hopeful.discard(self)
                self._refusal = _native.cuda_status()[1]
                self._scope_times = ScopeTimes()

    def release(self) -> None:
        with _lock:
            _hopeful.discard(self)
        # Each once more behind an interrupt, which does no harm.
        if self._samples is not None:
            self._samples.release()
            self._samples = None
        if self._scope_times is not None:
            self._scope_times.release()
            self._scope_times = None
        if self._number is not None:
            _native.stop_cuda(self._number)
            self._number = None

    def notes(self) -> Iterator[str]:
        """Sentences for the trace: what was not there to record, and what was recorded instead."""
        if self._stands_back:
            yield _TORCH_IS_RUNNING
        if self.times_scopes and self._is_refused() and _torch_may_keep_cupti():
            yield _TORCH_KEEPS_CUPTI
        # The collector tells why as long as it is so; a session that began later may have had more luck.
        if self._refusal and not self._is_refused():
            yield self._refusal
        if self._is_waiting():
            yield "the program did not initialise CUDA while this session ran"
        if self._scope_times is not None:
            yield from self._scope_times.notes()

    def _is_waiting(self) -> bool:
        if self._scope_times is not None:
            return not _native.scope_timer_is_ready()
        return _native.cuda_status()[0] == _WAITING

    def _is_refused(self) -> bool:
        return self._number is not None and _native.cuda_status()[0] == _REFUSED


def fall_back() -> None:
    """Let all time scopes to which CUPTI has been refused.

    Called from the native side, too, in the main thread, when that happens after a session had begun.
    """
    for use in tuple(_hopeful):
        use.fall_back()


def _torch_is_profiling() -> bool:
    """Not what torch is told by our own sessions that record its operators."""
    profiler = sys.modules.get("torch.autograd.profiler")
    flag = sys.modules.get("kinetograph.frameworks.torch.enabled_flag")
    if flag is not None:
        return bool(flag.is_profiled_by_torch(profiler))
    return bool(getattr(profiler, "_is_profiler_enabled", False))


def _torch_may_keep_cupti() -> bool:
    _state, reason, *_rest = _native.cuda_status()
    is_taken = reason.startswith("another tool")
    return is_taken and "torch" in sys.modules and os.environ.get("TEARDOWN_CUPTI") != "1"


def torch_is_capturing() -> bool:
    """Whether this thread captures a graph with torch, perhaps since before we came: waiting breaks that."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    try:
        return bool(cuda is not None and cuda.is_initialized() and cuda.is_current_stream_capturing())
    except Exception:
        return False


# Held across a fork, and a child has no session.
hold_across_forks(_lock, _hopeful.clear)

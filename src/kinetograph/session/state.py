"""How a session records: PyTorch's ProfilerState, with the numbers of PyTorch 2.13."""

from __future__ import annotations

from kinetograph.trace.words import Word

__all__ = ["ProfilerState"]


class ProfilerState(Word):
    """The kind of profiler; `KINETO` is the full one and the default."""

    DISABLED = 0
    CPU = 1  # host times only
    CUDA = 2  # scopes timed by CUDA events
    NVTX = 3  # only emit NVTX ranges
    ITT = 4  # only emit ITT tasks
    PRIVATEUSE1 = 5  # only emit what the custom backend's markers are
    KINETO = 6
    KINETO_GPU_FALLBACK = 7  # the same, as PyTorch does it where CUPTI cannot be used
    KINETO_PRIVATEUSE1_FALLBACK = 8
    KINETO_PRIVATEUSE1 = 9  # a registered backend does the device side
    KINETO_ONDEMAND = 10
    Disabled = 0  # PyTorch's spelling of the same member

    @property
    def times_scopes(self) -> bool:
        """By CUDA events; CUPTI is not used then."""
        return self in (ProfilerState.CUDA, ProfilerState.KINETO_GPU_FALLBACK)

    @property
    def only_emits(self) -> bool:
        """Scopes go to another tool, and nothing is recorded."""
        return self in (ProfilerState.NVTX, ProfilerState.ITT)

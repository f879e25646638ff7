"""GPU work and CUDA calls for one session. All share the collector, which does what any of them wants."""

from __future__ import annotations

import sys

from kinetograph import _native
from kinetograph.session.cuda_library import cupti_libraries

__all__ = ["CudaUse"]

_WAITING = 1


class CudaUse:
    """What one session wants of CUPTI while it runs.

    Begins now if the program has initialised CUDA, and else as soon as it does. Nothing here makes the
    program initialise it, and nothing fails: what cannot be had is told in the trace.
    """

    counts = False
    """Whether hardware metrics are measured, which `CudaMetrics` does instead."""

    def __init__(
        self,
        *,
        synchronization: bool,
        memory: bool = False,
        whole_graphs: bool = False,
        crash_safe: bool = False,
    ) -> None:
        self.synchronization = synchronization
        self.memory = memory
        self._number = _native.start_cuda(
            synchronization=synchronization,
            memory=memory,
            whole_graphs=whole_graphs,
            crash_safe=crash_safe,
            libraries=cupti_libraries(),
        )

    def pause(self) -> None:
        """Bring in what the GPU has done so far. Waits for what it is still doing."""
        _native.flush_cuda(may_wait=not _torch_is_capturing())

    def resume(self) -> None:
        """Nothing to do: what happens in a pause is left out when the trace is made."""

    def release(self) -> None:
        _native.stop_cuda(self._number)

    def shortfall(self) -> str | None:
        """A sentence for the trace, if there was no CUDA to record."""
        if _native.cuda_status()[0] != _WAITING:
            return None
        return "the program did not initialise CUDA while this session ran"


def _torch_is_capturing() -> bool:
    """Whether this thread captures a graph with torch, perhaps since before we came: waiting breaks that."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    try:
        return bool(cuda is not None and cuda.is_initialized() and cuda.is_current_stream_capturing())
    except Exception:
        return False

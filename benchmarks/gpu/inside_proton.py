"""The same kernels under Proton's instrumentation, which has a process of its own: it hooks every launch."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.gpu.inside_ours import zeros
from benchmarks.gpu.inside_runs import Run, runs

PROTON = "Proton"


def contenders() -> list[Run]:
    import triton.profiler
    import triton.profiler.language

    from benchmarks.gpu import inside_kernels as kernels

    triton.profiler.language.enable_semantic("triton")
    folder = Path(tempfile.mkdtemp(prefix="kinetograph-proton-"))
    triton.profiler.start(str(folder / "inside"), backend="instrumentation")
    # A launch takes it the better part of a second.
    return runs(kernels.PROTON, PROTON, lambda _: zeros(1), count=3)

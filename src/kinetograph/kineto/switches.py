"""Process-wide switches of the shim: what to record besides what a session asks for."""

from __future__ import annotations

import os

from kinetograph.checks import require_bool

__all__ = [
    "collectives_profiler_exists",
    "get_cuda_sync_enabled",
    "set_collectives_profiler",
    "set_cuda_sync_enabled",
]

_cuda_sync = False
_collectives: bool | None = None


def set_cuda_sync_enabled(enabled: bool) -> None:
    """Record synchronisation events in every CUDA trace, as ExperimentalConfig does for one."""
    global _cuda_sync
    require_bool("enabled", enabled, hint="True turns it on, False off")
    _cuda_sync = enabled


def get_cuda_sync_enabled() -> bool:
    return _cuda_sync


def set_collectives_profiler(exists: bool | None) -> None:
    """Record collective communication; None leaves it to the environment, as at the start."""
    global _collectives
    if exists is not None:
        require_bool("exists", exists, hint="None leaves it to the environment")
    _collectives = exists


def collectives_profiler_exists() -> bool:
    """True when told so, or when TORCH_PROFILER_ENABLE_COLLECTIVE_PROFILING is 1."""
    if _collectives is not None:
        return _collectives
    return os.environ.get("TORCH_PROFILER_ENABLE_COLLECTIVE_PROFILING") == "1"

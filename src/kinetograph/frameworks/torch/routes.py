"""The ways by which torch itself tells the names of its operators: to a collector of ITT, or by NVTX.

Which collector ITT has was decided when torch was imported. NVTX is first called when torch first sends
operators that way, so it is enough that our library is named in the environment until then. CPU builds have
no NVTX, ARM builds no ITT.
"""

from __future__ import annotations

from typing import Any

from kinetograph import injection
from kinetograph.errors import NotAvailable

__all__ = ["enable", "route_of"]

# The part of torch that calls NVTX for operators; native/inject/torch_names.h has the same.
_NVTX_CLIENT = "libtorch_cuda.so"


def route_of(torch: Any) -> str:
    """`ITT` where that can be had, else `NVTX`. Raises `NotAvailable` that says of both what is missing."""
    missing = []
    for name, require in (("ITT", _require_itt), ("NVTX", _require_nvtx)):
        try:
            require(torch)
        except NotAvailable as error:
            missing.append(f"nor do their names come by {name}: {error}")
        else:
            return name
    raise NotAvailable("\n".join(missing))


def enable(torch: Any, route: str) -> None:
    """In the calling thread, and whatever threads of autograd work for it."""
    profiler = torch.autograd.profiler
    state = getattr(profiler.ProfilerState, route)
    others = torch._C._profiler._ExperimentalConfig()
    config = profiler.ProfilerConfig(state, False, False, False, False, False, others)
    torch._C._autograd._enable_profiler(config, set())


def _require_itt(torch: Any) -> None:
    itt = getattr(torch._C, "_itt", None)
    if itt is None or not itt.is_available():
        raise NotAvailable(f"torch {torch.__version__} was built without ITT")
    if not injection.is_client(injection.ITT, "torch"):
        itt.mark("kinetograph")  # its first annotation settles who is told
    if not injection.is_client(injection.ITT, "torch"):
        raise NotAvailable(
            "torch was imported before kg.itt.install(), or annotates for another tool",
            hint="call kg.itt.install() before torch is imported, or use kinetograph run",
        )


def _require_nvtx(torch: Any) -> None:
    if torch.version.cuda is None:
        raise NotAvailable(f"torch {torch.__version__} was built without CUDA")
    if injection.owner(injection.NVTX) is None:
        raise NotAvailable(
            "kg.nvtx.install() was not called",
            hint="call kg.nvtx.install() before the session, or use kinetograph run",
        )
    injection.install(injection.NVTX)  # refuses where another tool is named
    if not injection.is_client(injection.NVTX, _NVTX_CLIENT):
        _send_one(torch)
    if not injection.is_client(injection.NVTX, _NVTX_CLIENT):
        raise NotAvailable(
            f"{_NVTX_CLIENT} of torch {torch.__version__} has not come to us with its first operator",
            hint="call kg.nvtx.install() before the first emit_nvtx of torch, or use kinetograph run",
        )


def _send_one(torch: Any) -> None:
    """The first range that torch sends settles who is told."""
    if torch._C._autograd._profiler_enabled():
        raise NotAvailable(
            "torch's own profiler runs in this thread, and bears no other", hint="end the other one first"
        )
    enable(torch, "NVTX")
    try:
        with torch._C._profiler._RecordFunctionFast("kinetograph"):
            pass
    finally:
        torch._C._autograd._disable_profiler()

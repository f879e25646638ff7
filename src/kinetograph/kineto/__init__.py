"""PyTorch's Kineto shim, name for name, for callers that drive a trace by hand.

>>> kineto.prepare_trace(cpu_only=True, activities={kg.ActivityType.CPU})
>>> kineto.start_trace()
>>> wrapper = kineto.TraceWrapper(start_ns, "my operators")
>>> wrapper.add_cpu_activity("load", kineto.ActivityType.CPU_OP, kineto.kineto_ids(), 1, start_ns, end_ns)
>>> wrapper.transfer_cpu_trace(end_ns)
>>> kineto.stop_trace().save("trace.json")
"""

from __future__ import annotations

from kinetograph.hints import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinetograph.kineto.names import *  # noqa: F403
else:
    # Few programs drive the shim and all would pay for its import: it comes with the first name asked for.

    def __getattr__(name: str) -> Any:
        if name.startswith("_") and name != "__all__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import kinetograph.kineto.names as names  # not `from`, which would ask here for `names` first

        globals().update({known: getattr(names, known) for known in names.__all__}, __all__=names.__all__)
        try:
            return globals()[name]
        except KeyError:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None

    def __dir__() -> list[str]:
        return sorted({*globals(), *__getattr__("__all__")})

"""PyTorch's Kineto shim, name for name, for callers that drive a trace by hand.

>>> kineto.prepare_trace(cpu_only=True, activities={kg.ActivityType.CPU})
>>> kineto.start_trace()
>>> wrapper = kineto.TraceWrapper(start_ns, "my operators")
>>> wrapper.add_cpu_activity("load", kineto.ActivityType.CPU_OP, kineto.kineto_ids(), 1, start_ns, end_ns)
>>> wrapper.transfer_cpu_trace(end_ns)
>>> kineto.stop_trace().save("trace.json")
"""

from __future__ import annotations

from kinetograph.hints import TYPE_CHECKING
from kinetograph.late import late_names

if TYPE_CHECKING:
    from kinetograph.kineto.names import *  # noqa: F403
else:
    __getattr__, __dir__ = late_names(__name__)

"""Tasks and marks of ITT, for Intel's tools: the names of `torch.profiler.itt`, with domains and more.

>>> kg.itt.range_push("step")
>>> kg.itt.range_pop()
>>> with kg.itt.range("load", domain="data"):
...     load()

Without a tool all of it is a no-op. `kg.emit_itt` sends the scopes of a program the same way.
"""

from kinetograph.itt.control import (
    detach,
    is_available,
    is_listening,
    jit_is_active,
    jit_method_loaded,
    jit_method_unloaded,
    name_thread,
    pause,
    resume,
)
from kinetograph.itt.ranges import (
    Domain,
    StringHandle,
    domain,
    mark,
    range,
    range_end,
    range_pop,
    range_push,
    range_start,
    string_handle,
)

__all__ = [
    "Domain",
    "StringHandle",
    "detach",
    "domain",
    "is_available",
    "is_listening",
    "jit_is_active",
    "jit_method_loaded",
    "jit_method_unloaded",
    "mark",
    "name_thread",
    "pause",
    "range",
    "range_end",
    "range_pop",
    "range_push",
    "range_start",
    "resume",
    "string_handle",
]

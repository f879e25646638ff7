"""Ranges and marks of NVTX, for NVIDIA's tools: the names of `torch.cuda.nvtx`, with all that NVTX has.

>>> kg.nvtx.range_push("step", color="green", category="training", payload=7)
>>> kg.nvtx.range_pop()
>>> with kg.nvtx.range("load", domain="data"):
...     load()

Without a tool all of it is a no-op. `kg.emit_nvtx` sends the scopes of a program the same way.
"""

from kinetograph.nvtx.ranges import (
    Domain,
    StringHandle,
    domain,
    is_available,
    is_listening,
    mark,
    name_thread,
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
    "domain",
    "is_available",
    "is_listening",
    "mark",
    "name_thread",
    "range",
    "range_end",
    "range_pop",
    "range_push",
    "range_start",
    "string_handle",
]

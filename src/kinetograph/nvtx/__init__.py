"""Ranges and marks of NVTX, for NVIDIA's tools: the names of `torch.cuda.nvtx`, with all that NVTX has.

>>> kg.nvtx.range_push("step", color="green", category="training", payload=7)
>>> kg.nvtx.range_pop()
>>> with kg.nvtx.range("load", domain="data"):
...     load()

Without a tool all of it is a no-op. `kg.emit_nvtx` sends the scopes of a program the same way,
and `install` brings what other libraries annotate into traces.
"""

from __future__ import annotations

from kinetograph.hints import TYPE_CHECKING
from kinetograph.late import late_names

if TYPE_CHECKING:
    from kinetograph.nvtx.names import *  # noqa: F403
else:
    __getattr__, __dir__ = late_names(__name__)

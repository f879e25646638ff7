"""Tasks and marks of ITT, for Intel's tools: the names of `torch.profiler.itt`, with domains and more.

>>> kg.itt.range_push("step")
>>> kg.itt.range_pop()
>>> with kg.itt.range("load", domain="data"):
...     load()

Without a tool all of it is a no-op. `kg.emit_itt` sends the scopes of a program the same way,
and `install` brings what other libraries annotate into traces.
"""

from __future__ import annotations

from kinetograph.hints import TYPE_CHECKING
from kinetograph.late import late_names

if TYPE_CHECKING:
    from kinetograph.itt.names import *  # noqa: F403
else:
    __getattr__, __dir__ = late_names(__name__)

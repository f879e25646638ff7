"""The names of the package, from the files that have them."""

from __future__ import annotations

from kinetograph import injection
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
    "install",
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


def install() -> None:
    """Let what libraries annotate by ITT be recorded, from their first annotation on, also in children.

    A library asks once which tool to tell, so this comes before its first annotation. Raises `NotAvailable`
    where another tool has taken the place. `kinetograph run` does it for the program that it starts.
    """
    injection.install(injection.ITT)

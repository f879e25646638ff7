"""The names of the package, from the files that have them."""

from __future__ import annotations

from kinetograph import injection
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
    "install",
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


def install() -> None:
    """Let what libraries annotate by NVTX be recorded, from their first annotation on, also in children.

    A library asks once which tool to tell, so this comes before its first annotation. Raises `NotAvailable`
    where another tool has taken the place. `kinetograph run` does it for the program that it starts.
    """
    injection.install(injection.NVTX)

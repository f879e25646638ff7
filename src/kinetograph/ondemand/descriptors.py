"""Room for many connections: systems give a program 1024 descriptors unless it asks for more."""

from __future__ import annotations

import resource
from contextlib import suppress

__all__ = ["allow_many_descriptors"]

_ENOUGH = 65_536


def allow_many_descriptors() -> None:
    """As many as are enough for thousands of hosts or processes, or as this process may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))

"""Where the trace of a run goes: a path with `{host} {rank} {pid} {time}` in it."""

from __future__ import annotations

import os
import re
import time

from kinetograph.errors import UsageError
from kinetograph.session.ranks import rank_from_environment
from kinetograph.trace.formats import usable_path

__all__ = ["DEFAULT_OUTPUT", "output_path"]

DEFAULT_OUTPUT = "kinetograph-{time}-{pid}.json.gz"
_PLACE = re.compile(r"\{([^{}]*)\}")
_SUFFIXES = re.compile(r"((\.pt)?(\.trace)?\.json(\.gz)?|\.[^./]+)$")


def output_path(template: str) -> str:
    """The path from the root, filled in; raises before anything runs if it cannot be written to."""
    rank = rank_from_environment()
    if rank is not None and not _is_told_apart(template):
        # All processes of the job were given one name, and the last would overwrite the others.
        template = _SUFFIXES.sub(lambda suffix: ".rank{rank}" + suffix[0], template, count=1)
    values = {
        "host": os.uname().nodename,
        "rank": str(rank.number if rank else 0),
        "pid": str(os.getpid()),
        "time": time.strftime("%Y%m%d-%H%M%S"),
    }
    return usable_path("output", _PLACE.sub(lambda place: _value(values, place[1], template), template))


def _is_told_apart(template: str) -> bool:
    return any(place[1] in ("rank", "pid") for place in _PLACE.finditer(template))


def _value(values: dict[str, str], name: str, template: str) -> str:
    if name not in values:
        known = " ".join(f"{{{known}}}" for known in values)
        raise UsageError(
            f"output: {{{name}}} in {template!r} means nothing", hint=f"these are filled in: {known}"
        )
    return values[name]

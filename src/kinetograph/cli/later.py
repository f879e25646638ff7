"""The verbs that later parts bring: each says what is missing."""

from __future__ import annotations

from typing import NoReturn

import click

from kinetograph.errors import NotAvailable

__all__ = ["capture", "daemon", "ps"]

_ANYTHING = {"ignore_unknown_options": True, "allow_extra_args": True}


def _later(verb: str, missing: str, instead: str) -> click.Command:
    def refuse() -> NoReturn:
        raise NotAvailable(f"`kinetograph {verb}` is not available yet: {missing}", hint=instead)

    return click.Command(
        verb, callback=refuse, help=f"Not available yet: {missing}.", context_settings=_ANYTHING
    )


_IN_PROGRAM = "kg.enable_profiler and kg.disable_profiler record a window of your program today"

capture = _later("capture", "profiling from outside comes with the on-demand part", _IN_PROGRAM)
daemon = _later("daemon", "profiling from outside comes with the on-demand part", _IN_PROGRAM)
ps = _later("ps", "profiling from outside comes with the on-demand part", _IN_PROGRAM)

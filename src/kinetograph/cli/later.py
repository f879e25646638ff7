"""The verbs that later parts bring: each says what is missing."""

from __future__ import annotations

from typing import NoReturn

import click

from kinetograph.errors import NotAvailable

__all__ = ["daemon"]

_ANYTHING = {"ignore_unknown_options": True, "allow_extra_args": True}


def _later(verb: str, missing: str, instead: str) -> click.Command:
    def refuse() -> NoReturn:
        raise NotAvailable(f"`kinetograph {verb}` is not available yet: {missing}", hint=instead)

    return click.Command(
        verb, callback=refuse, help=f"Not available yet: {missing}.", context_settings=_ANYTHING
    )


daemon = _later(
    "daemon",
    "requests over the network come with a later part",
    "`kinetograph capture` looks into processes of this host without one",
)

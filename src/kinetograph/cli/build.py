"""`kinetograph build torch`: what has to be built against an installed framework, ahead of its first use."""

from __future__ import annotations

import click

__all__ = ["build"]


@click.command()
@click.argument("framework", type=click.Choice(["torch"]))
def build(framework: str) -> None:
    """Build what records the operators of FRAMEWORK, and print where it is kept.

    The first session of a program that uses it would build it as well; ahead of time nothing waits for it.
    It is built once for each version of the framework, and kept in XDG_CACHE_HOME or ~/.cache.

    \b
    Example:
      kinetograph build torch
    """
    from kinetograph.session.operators import build_observer

    click.echo(str(build_observer()))

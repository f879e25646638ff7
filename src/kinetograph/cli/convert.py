"""`kinetograph convert A B`: the same trace in another format."""

from __future__ import annotations

from pathlib import Path

import click

from kinetograph.cli.paths import FILE
from kinetograph.cli.streams import stdin_for_dash
from kinetograph.trace import load
from kinetograph.trace.formats import usable_path

__all__ = ["convert"]


@click.command()
@click.argument("source", metavar="A", type=FILE)
@click.argument("target", metavar="B", type=FILE)
def convert(source: Path, target: Path) -> None:
    """Rewrite trace A as B, in the format of B's suffix. An A of - is stdin.

    \b
    Example:
      kinetograph convert trace.json trace.pftrace
    """
    usable_path("output", target)  # what is wrong with it is told before a large file is read
    load(stdin_for_dash(source)).save(target)

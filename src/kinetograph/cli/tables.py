"""Tables on a terminal, which they fit, or in a file or pipe, where nothing is cut."""

from __future__ import annotations

from typing import IO

import click

from kinetograph.analysis.grid import Grid

__all__ = ["print_grid"]


def print_grid(grid: Grid, file: IO[str]) -> None:
    if not (file is not None and file.isatty()):
        click.echo(grid.plain(), file=file)
        return
    from rich.console import Console

    Console(file=file).print(grid)

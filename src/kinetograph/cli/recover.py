"""`kinetograph recover DIR`: traces from the session files of a process that died."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["recover"]


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
def recover(directory: Path) -> None:
    """Build traces from what a dead process left in DIR.

    Recording with crash_safe=True keeps events in mapped files, which outlive kill -9. The paths of the
    traces made of them are printed, one a line. The mapped files stay: remove them when you have the traces.

    \b
    Example:
      kinetograph recover ./session
    """
    from kinetograph.session.recover import recover_directory

    for trace_path in recover_directory(directory):
        click.echo(trace_path)

"""`kinetograph merge DIR`: one trace of many."""

from __future__ import annotations

from pathlib import Path

import click

from kinetograph.cli.sizes import BYTES

__all__ = ["merge"]


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(dir_okay=False), help="Where to write the trace."
)
@click.option(
    "--memory-limit",
    type=BYTES,
    default="1G",
    show_default=True,
    help="What is larger is kept in files of DIR.",
)
def merge(directory: Path, output: str, memory_limit: int) -> None:
    """Make one trace of those in DIR: trace files (.json, .json.gz) and session files.

    Times are those of the wall clock of each host. Processes of several hosts that have the same pid get pids
    of their own, and the label of each process says which rank or file it comes from. What stands once in a
    file, such as distributedInfo, is that of the lowest rank; "merged" lists all.

    \b
    Example:
      kinetograph merge ./ranks -o job.json.gz
    """
    from kinetograph.cli.progress import progress
    from kinetograph.run.merging import merge_directory
    from kinetograph.trace.formats import saver_for
    from kinetograph.trace.words import counted

    saver_for(output)  # a wrong suffix is told before large files are read
    with progress() as tell:
        trace = merge_directory(str(directory), output, memory_limit, tell)
        tell(f"writing {counted(len(trace), 'event')} to {output}")
        trace.save(output)
    for note in trace.notes:
        if note.kind == "unreadable":
            click.echo(f"kinetograph: left out: {note.text}", err=True)
    click.echo(output)

"""`kinetograph merge DIR|TRACE...`: one trace of many."""

from __future__ import annotations

import click

from kinetograph.cli.paths import FILE_NAME
from kinetograph.cli.sizes import BYTES

__all__ = ["merge"]


@click.command()
@click.argument("sources", metavar="DIR|TRACE...", nargs=-1, required=True, type=click.Path(exists=True))
@click.option("-o", "--output", required=True, type=FILE_NAME, help="Where to write the trace.")
@click.option(
    "--memory-limit",
    type=BYTES,
    default="1G",
    show_default=True,
    help="What is larger is kept in files beside the output.",
)
def merge(sources: tuple[str, ...], output: str, memory_limit: int) -> None:
    """Make one trace of several: of trace files, and of all trace files and session files in a DIR.

    Times are those of the wall clock of each host. Processes of several hosts or ranks that have the same pid
    get pids of their own, and the label of each process says which rank or file it comes from. What stands
    once in a file, such as distributedInfo, is that of the lowest rank; "merged" lists all.

    \b
    Examples:
      kinetograph merge ./ranks -o job.json.gz
      kinetograph merge server.json.gz client.pftrace -o both.json.gz
    """
    from kinetograph.cli.progress import progress
    from kinetograph.run.merging import merge_sources
    from kinetograph.trace.formats import usable_path
    from kinetograph.trace.words import counted

    usable_path("output", output)  # what is wrong with it is told before large files are read
    with progress() as tell:
        trace = merge_sources(sources, output, memory_limit, tell)
        tell(f"writing {counted(len(trace), 'event')} to {output}")
        trace.save(output)
    for note in trace.notes:
        if note.kind == "unreadable":
            click.echo(f"kinetograph: left out: {note.text}", err=True)
    click.echo(output)

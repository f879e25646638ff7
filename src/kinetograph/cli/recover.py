"""`kinetograph recover DIR`: traces from the session files of a process that died."""

from __future__ import annotations

from pathlib import Path

import click

from kinetograph.cli.paths import FILE_NAME

__all__ = ["recover"]


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "-o",
    "--output",
    type=FILE_NAME,
    help="Make one trace of all processes, and write it here.",
)
def recover(directory: Path, output: str | None) -> None:
    """Build traces from what a dead process left in DIR.

    Recording with crash_safe=True keeps events in mapped files, which outlive kill -9, and so does
    `kinetograph run`. The paths of the traces made of them are printed, one a line: one for each process, or,
    with -o or if DIR is that of a run, one for all. The mapped files stay: remove them when you have the
    traces. Of a process that still runs, the trace is what it has recorded so far; it does not notice.

    \b
    Examples:
      kinetograph recover ./session
      kinetograph recover ./session -o session.json.gz
    """
    from kinetograph.run.directory import RunDirectory
    from kinetograph.session.recover import recover_directory

    if output is not None or RunDirectory(str(directory)).exists:
        click.echo(_recover_as_one(directory, output or str(directory / "trace.json.gz")))
        return
    for trace_path in recover_directory(directory, lambda sentence: click.echo(sentence, err=True)):
        click.echo(trace_path)


def _recover_as_one(directory: Path, output: str) -> str:
    from kinetograph.cli.progress import progress
    from kinetograph.run.directory import RunDirectory
    from kinetograph.run.program import made_trace
    from kinetograph.run.settings import RunSettings
    from kinetograph.trace.formats import usable_path
    from kinetograph.trace.words import counted

    usable_path("output", output)
    run = RunDirectory(str(directory))
    settings = RunSettings.from_json(run.read_settings()) if run.exists else RunSettings()
    with progress() as tell:
        trace = made_trace(run, settings, tell).trace
        for note in trace.notes:
            if note.kind == "running":
                click.echo(note.text, err=True)
        tell(f"writing {counted(len(trace), 'event')} to {output}")
        trace.save(output)
    return output

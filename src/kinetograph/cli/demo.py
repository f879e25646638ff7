"""`kinetograph demo`: profile the program beside this file, print its summary, say where the trace is."""

from __future__ import annotations

from pathlib import Path

import click

from kinetograph.cli.paths import FILE
from kinetograph.cli.streams import as_called

__all__ = ["demo"]


@click.command()
@click.option(
    "-o",
    "--output",
    type=FILE,
    default=Path("kinetograph-demo.json.gz"),
    show_default=True,
    help="Where to write the trace.",
)
def demo(output: Path) -> None:
    """Profile a small program and show what comes out.

    The program fetches pictures with asyncio and decodes them in threads; it takes less than a second.

    \b
    Example:
      kinetograph demo -o demo.json.gz
    """
    import kinetograph as kg
    from kinetograph.cli.demo_program import run_pipeline
    from kinetograph.cli.summary import print_summary
    from kinetograph.trace.formats import usable_path

    usable_path("output", output)  # what is wrong with it is told before anything runs
    kg.enable_profiler(kg.ProfilerConfig(), {kg.ActivityType.CPU}, all_threads=True)
    try:
        run_pipeline()
    finally:
        result = kg.disable_profiler()
    result.save(output)
    print_summary(result.trace)
    click.echo(_how_to_open(output))


def _how_to_open(trace_path: Path) -> str:
    return (
        f"\nTrace: {trace_path.resolve()}\n"
        f"Look at it: {as_called()} view {trace_path}, or drag the file onto https://ui.perfetto.dev.\n"
        f"The table again: {as_called()} summary {trace_path}"
    )

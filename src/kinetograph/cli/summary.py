"""`kinetograph summary TRACE`: where the time went, as tables or as a tree."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple

import click

from kinetograph.analysis.averages import Averages, key_averages
from kinetograph.analysis.call_tree import call_tree, duration_text
from kinetograph.analysis.grid import Grid, printable
from kinetograph.analysis.summary_tables import SORT_KEYS, summary_tables
from kinetograph.analysis.task_times import task_table
from kinetograph.cli.paths import FILE
from kinetograph.cli.streams import stdin_for_dash
from kinetograph.cli.tables import print_grid
from kinetograph.errors import KinetographError
from kinetograph.trace import EventFlag, EventKind, Trace, load
from kinetograph.trace.words import counted

__all__ = ["SummaryOptions", "print_summary", "summary"]

_NOUNS = {EventKind.MEMORY: "memory event"}
_STACK_FRAMES = 5


class SummaryOptions(NamedTuple):
    """What `kinetograph summary` takes; the defaults are its defaults."""

    sort_by: str = "self"
    limit: int = 20
    categories: Sequence[str] = ()
    python: bool = True
    by: str | None = None
    tree: bool = False
    depth: int | None = None
    min_percent: float = 1.0


_DEFAULTS = SummaryOptions()


@click.command()
@click.argument("trace_path", metavar="TRACE", type=FILE)
@click.option(
    "--sort-by", type=click.Choice(SORT_KEYS), default="self", show_default=True, help="Largest first."
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Rows of each table."
)
@click.option(
    "--category", "categories", multiple=True, help="Only this category; may be given again. Not for --tree."
)
@click.option(
    "--python/--no-python",
    default=True,
    show_default=True,
    help="Whether to show Python functions; if not, their time counts for the event around them.",
)
@click.option("--by", type=click.Choice(["shapes", "stack"]), help="Tell equal names apart by this.")
@click.option("--tree", is_flag=True, help="Who called what: a tree, merged over threads.")
@click.option("--depth", type=click.IntRange(min=1), help="Levels of the tree. [default: all]")
@click.option(
    "--min-percent",
    type=click.FloatRange(0, 100),
    default=1.0,
    show_default=True,
    help="Leave smaller parts out of the tree.",
)
def summary(trace_path: Path, **options: object) -> None:
    """Print where the time went in TRACE.

    Self is the time of a span without that of the spans inside it. Python functions have a table of their
    own, and so have the work of devices, the annotations around it, and what kernels recorded of themselves.
    A TRACE of - is stdin.

    \b
    Examples:
      kinetograph summary trace.json.gz
      kinetograph summary trace.json --sort-by total --category cpu_op
      kinetograph summary trace.json --tree --depth 5
    """
    print_summary(load(stdin_for_dash(trace_path)), SummaryOptions(**options))  # type: ignore[arg-type]


def print_summary(trace: Trace, options: SummaryOptions = _DEFAULTS, *, file: IO[str] | None = None) -> None:
    """Print to `file`, by default stdout: drawn to fit a terminal, else as plain aligned text."""
    grids = [_tree(trace, options)] if options.tree else _tables(trace, options)
    target = file or sys.stdout
    click.echo(_headline(trace), file=target)
    for grid in grids:
        click.echo(file=target)
        print_grid(grid, target)
    for note in trace.notes:
        kind, text = printable((note.kind, note.text))
        click.echo(f"note ({kind}): {text}", file=target)


def _tree(trace: Trace, options: SummaryOptions) -> Grid:
    return call_tree(trace, include_python=options.python).grid(options.depth, options.min_percent)


def _tables(trace: Trace, options: SummaryOptions) -> list[Grid]:
    by_shapes, frames = options.by == "shapes", _STACK_FRAMES if options.by == "stack" else 0
    averages = key_averages(trace, by_shapes, frames, include_python=options.python)
    if options.categories:
        averages = _of_categories(averages, options.categories)
    grids = summary_tables(averages, options.sort_by, options.limit)
    if not options.categories or "intra_kernel" in options.categories:
        tasks = task_table(trace, options.sort_by, options.limit)
        grids += [] if tasks is None else [tasks]
    return grids


def _of_categories(averages: Averages, categories: Sequence[str]) -> Averages:
    chosen = averages.of_categories(*categories)
    if len(chosen):
        return chosen
    there = ", ".join(sorted({average.category for average in averages}))
    raise KinetographError(
        f"there are no spans of category {' or '.join(categories)}",
        hint=f"there are {there}" if there else "this trace has no spans at all",
    )


def _headline(trace: Trace) -> str:
    kinds = trace.columns["kind"]
    counts = [(int((kinds == kind).sum()), _NOUNS.get(kind, kind.name.lower())) for kind in EventKind]
    events = ", ".join(counted(count, noun) for count, noun in counts if count)
    unfinished = int((trace.columns["flags"] & EventFlag.UNFINISHED > 0).sum())
    events += f" ({unfinished:,} unfinished)" if unfinished else ""
    window = duration_text(trace.end_ns - trace.start_ns)
    return f"{events or 'no events'} on {counted(len(trace.tracks), 'track')} in {window}"

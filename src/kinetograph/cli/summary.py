"""`kinetograph summary TRACE`: where the time went, as a table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from kinetograph.analysis.totals import SORT_KEYS, NameTotal, totals
from kinetograph.trace import EventKind, Trace, load

__all__ = ["print_summary", "summary"]

_HEADINGS = ("Self", "Self %", "Total", "Count", "Average", "Min", "Max", "Category", "Name")
_TEXT_COLUMNS = ("Category", "Name")
# A narrow terminal does without these, in this order, before names become too short to tell apart.
_DISPENSABLE = ("Min", "Max", "Category", "Average")
_SHORTEST_NAME = 24
_GAP = 2
_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"))


@click.command()
@click.argument("trace_path", metavar="TRACE", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--sort", type=click.Choice(SORT_KEYS), default="self", show_default=True, help="Largest first."
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Rows of each table."
)
@click.option("--category", "categories", multiple=True, help="Only this category; may be given again.")
def summary(trace_path: Path, sort: str, limit: int, categories: tuple[str, ...]) -> None:
    """Print where the time went in TRACE.

    Self is the time of a span without that of the spans inside it. Work of devices has a table of its own.

    \b
    Examples:
      kinetograph summary trace.json.gz
      kinetograph summary trace.json --sort total --category cpu_op
    """
    print_summary(load(trace_path), sort=sort, limit=limit, categories=categories)


def print_summary(
    trace: Trace, *, sort: str = "self", limit: int = 20, categories: Sequence[str] = ()
) -> None:
    """Print the tables to stdout: drawn to fit a terminal, else as plain aligned text."""
    rows = totals(trace, sort=sort, categories=categories)
    click.echo(_headline(trace))
    for title, on_device in (("Host", False), ("Device", True)):
        group = [row for row in rows if row.is_on_device is on_device]
        if group:
            _print_table(title, group, limit)
    for note in trace.notes:
        click.echo(f"note ({note.kind}): {note.text}")


def _headline(trace: Trace) -> str:
    kinds = trace.columns["kind"]
    counts = [(int((kinds == kind).sum()), kind.name.lower()) for kind in EventKind]
    events = ", ".join(f"{count:,} {kind}{'s' if count != 1 else ''}" for count, kind in counts if count)
    window = _time(trace.end_ns - trace.start_ns)
    return f"{events or 'no events'} on {len(trace.tracks)} tracks in {window}"


def _print_table(title: str, group: Sequence[NameTotal], limit: int) -> None:
    all_self_ns = sum(row.self_ns for row in group) or 1
    cells = [_cells(row, all_self_ns) for row in group[:limit]]
    left_out = len(group) - len(cells)
    caption = f"{left_out} more names; --limit shows them" if left_out else ""
    (_print_drawn if sys.stdout.isatty() else _print_plain)(title, cells, caption)


def _cells(row: NameTotal, all_self_ns: int) -> tuple[str, ...]:
    share = f"{100 * row.self_ns / all_self_ns:.1f}"
    times = (_time(ns) for ns in (row.average_ns, row.min_ns, row.max_ns))
    return (_time(row.self_ns), share, _time(row.total_ns), f"{row.count:,}", *times, row.category, row.name)


def _time(ns: float) -> str:
    for unit_ns, unit in _UNITS:
        if ns >= unit_ns:
            value = ns / unit_ns
            decimals = 3 if value < 10 else 2 if value < 100 else 1
            return f"{value:,.{decimals}f} {unit}"
    return f"{ns:.0f} ns"


def _print_plain(title: str, cells: Sequence[Sequence[str]], caption: str) -> None:
    """The name stands last and whole: it may be of any length, and scripts can cut it off the line."""
    table = [list(_HEADINGS), *map(_printable, cells)]
    widths = _widths(table)
    click.echo(f"\n{title}")
    for row in table:
        padded = [
            text.ljust(width) if heading in _TEXT_COLUMNS else text.rjust(width)
            for heading, text, width in zip(_HEADINGS, row, widths, strict=True)
        ]
        click.echo((" " * _GAP).join(padded).rstrip())
    if caption:
        click.echo(caption)


def _print_drawn(title: str, cells: Sequence[Sequence[str]], caption: str) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    table = [list(_HEADINGS), *map(_printable, cells)]
    shown, name_width = _fit(_widths(table), console.width)
    drawn = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold cyan")
    for column in shown:
        is_text = _HEADINGS[column] in _TEXT_COLUMNS
        drawn.add_column(_HEADINGS[column], justify="left" if is_text else "right", no_wrap=True)
    for row in table[1:]:
        row[-1] = _cut(row[-1], name_width)
        drawn.add_row(*(Text(row[column]) for column in shown))
    console.print(f"\n[bold]{title}[/bold]")
    console.print(drawn)
    if caption:
        console.print(caption, style="dim")


def _printable(row: Sequence[str]) -> list[str]:
    return ["".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text) for text in row]


def _widths(table: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*table, strict=True)]


def _fit(widths: Sequence[int], available: int) -> tuple[list[int], int]:
    """Which columns a line of this width has room for, and how long a name may be."""
    shown = list(range(len(_HEADINGS)))
    dispensable = [_HEADINGS.index(heading) for heading in _DISPENSABLE]
    while True:
        name_width = available - sum(widths[column] + _GAP for column in shown[:-1])
        if name_width >= _SHORTEST_NAME or not dispensable:
            return shown, max(name_width, 1)
        shown.remove(dispensable.pop(0))


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "\N{HORIZONTAL ELLIPSIS}"

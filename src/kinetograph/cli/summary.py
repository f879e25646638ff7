"""`kinetograph summary TRACE`: where the time went, as a table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from kinetograph.analysis.totals import SORT_KEYS, NameTotal, totals
from kinetograph.cli.streams import stdin_for_dash
from kinetograph.errors import KinetographError
from kinetograph.trace import EventFlag, EventKind, Trace, load
from kinetograph.trace.words import counted

__all__ = ["print_summary", "summary"]

_HEADINGS = ("Self", "Self %", "Total", "Count", "Average", "Min", "Max", "Category", "Name")
_TITLES = ("Host", "Device", "Device annotations")
_TEXT_COLUMNS = ("Category", "Name")
# A narrow terminal does without these, in this order, before names become too short to tell apart.
_DISPENSABLE = ("Min", "Max", "Category", "Average", "Self %", "Total")
_SHORTEST_NAME = 24
_GAP = 2
_NOUNS = {EventKind.MEMORY: "memory event"}
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

    Self is the time of a span without that of the spans inside it. Work of devices has a table of its own,
    and so have the annotations around it, which cover the time between as well. A TRACE of - is stdin.

    \b
    Examples:
      kinetograph summary trace.json.gz
      kinetograph summary trace.json --sort total --category cpu_op
    """
    print_summary(load(stdin_for_dash(trace_path)), sort=sort, limit=limit, categories=categories)


def print_summary(
    trace: Trace, *, sort: str = "self", limit: int = 20, categories: Sequence[str] = ()
) -> None:
    """Print the tables to stdout: drawn to fit a terminal, else as plain aligned text."""
    rows = totals(trace, sort=sort, categories=categories)
    if categories and not rows:
        raise _no_such_category(trace, categories)
    click.echo(_headline(trace))
    for title in _TITLES:
        group = [row for row in rows if _title(row) == title]
        if group:
            _print_table(title, group, limit)
    for note in trace.notes:
        click.echo(f"note ({note.kind}): {note.text}")


def _title(row: NameTotal) -> str:
    if not row.is_on_device:
        return "Host"
    return "Device annotations" if row.is_device_annotation else "Device"


def _no_such_category(trace: Trace, categories: Sequence[str]) -> KinetographError:
    there = ", ".join(sorted({row.category for row in totals(trace)}))
    return KinetographError(
        f"there are no spans of category {' or '.join(categories)}",
        hint=f"there are {there}" if there else "this trace has no spans at all",
    )


def _headline(trace: Trace) -> str:
    kinds = trace.columns["kind"]
    counts = [(int((kinds == kind).sum()), _NOUNS.get(kind, kind.name.lower())) for kind in EventKind]
    events = ", ".join(counted(count, noun) for count, noun in counts if count)
    unfinished = int((trace.columns["flags"] & EventFlag.UNFINISHED > 0).sum())
    events += f" ({unfinished:,} unfinished)" if unfinished else ""
    window = _time(trace.end_ns - trace.start_ns)
    return f"{events or 'no events'} on {counted(len(trace.tracks), 'track')} in {window}"


def _print_table(title: str, group: Sequence[NameTotal], limit: int) -> None:
    all_self_ns = sum(row.self_ns for row in group) or 1
    cells = [_cells(row, all_self_ns) for row in group[:limit]]
    left_out = len(group) - len(cells)
    caption = f"{counted(left_out, 'more name')}; --limit shows more" if left_out else ""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    (_print_drawn if is_terminal else _print_plain)(title, cells, caption)


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
    table = [list(_HEADINGS), *(_known_to(console.encoding, _printable(row)) for row in cells)]
    shown, name_width = _fit(_widths(table), console.width)
    drawn = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold cyan")
    for column in shown:
        is_text = _HEADINGS[column] in _TEXT_COLUMNS
        drawn.add_column(_HEADINGS[column], justify="left" if is_text else "right", no_wrap=True)
    for row in table[1:]:
        row[-1] = _cut(row[-1], name_width, _ellipsis(console.encoding))
        drawn.add_row(*(Text(row[column]) for column in shown))
    console.print(f"\n[bold]{title}[/bold]")
    console.print(drawn)
    if caption:
        console.print(caption, style="dim", highlight=False, soft_wrap=True)


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


def _known_to(encoding: str, row: Sequence[str]) -> list[str]:
    """What the terminal has no letters for is spelled out, where rich would raise."""
    return [text.encode(encoding, "backslashreplace").decode(encoding) for text in row]


def _ellipsis(encoding: str) -> str:
    (mark,) = _known_to(encoding, ["\N{HORIZONTAL ELLIPSIS}"])
    return mark if len(mark) == 1 else "..."


def _cut(text: str, width: int, ellipsis: str) -> str:
    return text if len(text) <= width else text[: max(width - len(ellipsis), 0)] + ellipsis

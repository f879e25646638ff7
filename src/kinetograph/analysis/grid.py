"""Cells under headings, as aligned text or fitted into a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions

__all__ = ["Grid", "Heading", "ellipsis_for", "known_to", "printable", "shortened"]

_GAP = 2
_SHORTEST_NAME = 24
# `  folder/file.py(12): function`, where the blanks draw a tree
_FRAME = re.compile(r"(?P<indent> *)(?P<folders>.*/)(?P<call>[^/]*\(\d+\): .*)")


@dataclass(frozen=True, slots=True)
class Heading:
    """A column: numbers stand to the right, text to the left."""

    text: str
    is_text: bool = False
    is_name: bool = False
    """The one column that is cut where the line is too short."""
    rank: int = 0
    """A narrow terminal does without the highest ranks first, before it cuts names short; 0 always stays."""


@dataclass(frozen=True)
class Grid:
    """A table: `plain` for files and pipes; printed by rich it fits the terminal."""

    headings: Sequence[Heading]
    rows: Sequence[Sequence[str]]
    title: str = ""
    captions: Sequence[str] = ()

    def plain(self) -> str:
        """Nothing is cut: scripts read this."""
        table = [[heading.text for heading in self.headings], *map(printable, self.rows)]
        widths = _widths(table)
        lines = ((" " * _GAP).join(map(_aligned, self.headings, row, widths)).rstrip() for row in table)
        return "\n".join([*([self.title] if self.title else []), *lines, *self.captions])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        from rich.text import Text

        if self.title:
            yield Text(self.title, style="bold")
        yield self._drawn(console.encoding, options.max_width)
        for caption in self.captions:
            yield Text(caption, style="dim", overflow="fold")

    def _drawn(self, encoding: str, width: int) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = [
            [heading.text for heading in self.headings],
            *(known_to(encoding, printable(row)) for row in self.rows),
        ]
        shown, name_width = fit(self.headings, _widths(table), width)
        drawn = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold cyan")
        for column in shown:
            heading = self.headings[column]
            drawn.add_column(heading.text, justify="left" if heading.is_text else "right", no_wrap=True)
        for row in table[1:]:
            drawn.add_row(*(Text(self._cell(row, column, name_width, encoding)) for column in shown))
        return drawn

    def _cell(self, row: Sequence[str], column: int, name_width: int, encoding: str) -> str:
        text = row[column]
        return shortened(text, name_width, ellipsis_for(encoding)) if self.headings[column].is_name else text


def fit(headings: Sequence[Heading], widths: Sequence[int], available: int) -> tuple[list[int], int]:
    """Which columns a line of this width has room for, and how long a name may be."""
    shown = list(range(len(headings)))
    while True:
        others = sum(widths[column] + _GAP for column in shown if not headings[column].is_name)
        name_width = available - others
        dispensable = max(shown, key=lambda column: headings[column].rank, default=0)
        if name_width >= _SHORTEST_NAME or headings[dispensable].rank == 0:
            return shown, max(name_width, 1)
        shown.remove(dispensable)


def shortened(text: str, width: int, ellipsis: str) -> str:
    """At most `width` letters: of a Python frame the folders go first, of other names the end goes."""
    if len(text) <= width:
        return text
    frame = _FRAME.fullmatch(text)
    kept = _fewer_folders(**frame.groupdict(), width=width, ellipsis=ellipsis) if frame else text
    return kept if len(kept) <= width else kept[: max(width - len(ellipsis), 0)] + ellipsis


def _fewer_folders(indent: str, folders: str, call: str, width: int, ellipsis: str) -> str:
    """As many of the inner folders as there is room for, after a mark for the others if it fits."""
    room = width - len(indent) - len(ellipsis) - 1
    if len(call) > room:
        return indent + call
    for folder in reversed(folders.strip("/").split("/")):
        if len(folder) + 1 + len(call) > room:
            break
        call = f"{folder}/{call}"
    return f"{indent}{ellipsis}/{call}"


def printable(row: Sequence[str]) -> list[str]:
    """Names come from anywhere: what would move the cursor becomes a mark."""
    return ["".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text) for text in row]


def known_to(encoding: str, row: Sequence[str]) -> list[str]:
    """What the terminal has no letters for is spelled out, where rich would raise."""
    return [text.encode(encoding, "backslashreplace").decode(encoding) for text in row]


def ellipsis_for(encoding: str) -> str:
    (mark,) = known_to(encoding, ["\N{HORIZONTAL ELLIPSIS}"])
    return mark if len(mark) == 1 else "..."


def _widths(table: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*table, strict=True)]


def _aligned(heading: Heading, text: str, width: int) -> str:
    return text.ljust(width) if heading.is_text else text.rjust(width)

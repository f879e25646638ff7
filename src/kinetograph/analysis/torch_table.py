"""The table of averages as PyTorch's profiler prints it: same headings, units, shares and footer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kinetograph.analysis.grid import Grid, Heading
from kinetograph.checks import require_choice, require_int
from kinetograph.trace.times import share_text, time_text
from kinetograph.trace.words import counted

if TYPE_CHECKING:
    from kinetograph.analysis.averages import Average, Averages

__all__ = ["TorchTable", "Widths"]

_UNITS = ("s", "ms", "us")
_SOURCE = "Source Location"
_USUAL_WIDTH = 12
_GAP = "  "
_MORE_THAN_LONGEST = 4
_BYTES = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"))
_FLOPS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")
# Notes that every recording has; they tell of no loss.
_ORDINARY_NOTES = ("clock", "cost")


class Widths(NamedTuple):
    """At most so many letters; None for as many as there are."""

    name: int | None = 55
    shapes: int | None = 80
    source: int | None = 75


@dataclass(frozen=True)
class Column:
    """A heading, and what an average has below it; `limit` is for those as wide as their cells."""

    heading: str
    cell: Callable[[Average], str]
    rank: int = 0
    limit: int | None = None
    is_name: bool = False

    @property
    def is_wide(self) -> bool:
        return self.is_name or self.limit is not None


class TorchTable:
    """`averages` give the sums, `shown` the rows."""

    def __init__(self, averages: Averages, shown: Averages, time_unit: str | None) -> None:
        if time_unit is not None:
            require_choice("time_unit", time_unit, _UNITS)
        self._averages = averages
        self._shown = shown
        self._unit = time_unit
        self._cpu_ns, self._device_ns = averages.totals
        self._device = (averages.use_device or "device").upper()

    # What it says

    def columns(self, widths: Widths) -> list[Column]:
        first = [Column("Name", lambda row: row.key, is_name=True, limit=widths.name)]
        if any(row.overload_name for row in self._shown[:1000]):
            first.append(Column("Overload Name", lambda row: row.overload_name, limit=widths.name))
        return [*first, *self._times(), *self._memory(), self._calls(), *self._shapes(widths), *self._flops()]

    def _times(self) -> Iterator[Column]:
        yield Column("Self CPU %", lambda row: share_text(row.self_cpu_time_total_ns, self._cpu_ns), rank=2)
        yield Column("Self CPU", lambda row: self._time(row.self_cpu_time_total_ns))
        yield Column("CPU total %", self._total_share, rank=6)
        yield Column("CPU total", lambda row: self._time(row.cpu_time_total_ns), rank=3)
        yield Column("CPU time avg", lambda row: self._time(row.cpu_time * 1e3), rank=5)
        if not self._averages.column("self_device_time_total_ns").any():
            return
        name, of_all = self._device, self._device_ns
        yield Column(f"Self {name}", lambda row: self._time(row.self_device_time_total_ns), rank=1)
        yield Column(f"Self {name} %", lambda row: share_text(row.self_device_time_total_ns, of_all), rank=8)
        yield Column(f"{name} total", lambda row: self._time(row.device_time_total_ns), rank=4)
        yield Column(f"{name} time avg", lambda row: self._time(row.device_time * 1e3), rank=7)

    def _total_share(self, row: Average) -> str:
        return "0" if row.is_async else share_text(row.cpu_time_total_ns, self._cpu_ns)

    def _memory(self) -> Iterator[Column]:
        if self._has("cpu_memory_usage", "self_cpu_memory_usage"):
            yield Column("CPU Mem", lambda row: _bytes(row.cpu_memory_usage), rank=9)
            yield Column("Self CPU Mem", lambda row: _bytes(row.self_cpu_memory_usage), rank=9)
        if self._has("device_memory_usage", "self_device_memory_usage"):
            yield Column(f"{self._device} Mem", lambda row: _bytes(row.device_memory_usage), rank=9)
            yield Column(f"Self {self._device} Mem", lambda row: _bytes(row.self_device_memory_usage), rank=9)

    def _calls(self) -> Column:
        return Column("# of Calls", lambda row: str(row.count))

    def _shapes(self, widths: Widths) -> Iterator[Column]:
        if any(row.input_shapes for row in self._shown[:1000]):
            yield Column(
                "Input Shapes",
                lambda row: "" if widths.shapes == 0 else str(row.input_shapes),
                rank=10,
                limit=widths.shapes,
            )

    def _flops(self) -> Iterator[Column]:
        flops = self._averages.column("flops")
        if not (flops > 0).any():
            return
        scale = min((len(str(int(flops[flops > 0].min()))) - 1) // 3, len(_FLOPS) - 1)
        yield Column(f"Total {_FLOPS[scale]}", lambda row: _scaled_flops(row.flops, scale), rank=9)

    def _has(self, *fields: str) -> bool:
        return any(self._averages.column(field).any() for field in fields)

    def _time(self, time_ns: float) -> str:
        return time_text(time_ns, self._unit)

    def footer(self) -> list[str]:
        lines = [f"Self CPU time total: {self._time(self._cpu_ns)}"]
        if self._device_ns:
            lines.append(f"Self {self._device} time total: {self._time(self._device_ns)}")
        return [*lines, *self._left_out(), *self._losses()]

    def _left_out(self) -> Iterator[str]:
        functions, calls, time_ns = self._averages.left_out
        if not functions:
            return
        outside = f", {self._time(time_ns)} outside of these events" if time_ns else ""
        what = f"{counted(functions, 'Python function')} in {counted(calls, 'call')}{outside}"
        yield f"Not shown: {what}; key_averages(include_python=True) shows them"

    def _losses(self) -> Iterator[str]:
        for note in self._averages.trace.notes:
            if note.kind not in _ORDINARY_NOTES:
                yield f"note ({note.kind}): {note.text}"

    # How it looks

    def text(self, row_limit: int, widths: Widths, header: str | None, top_level_only: bool) -> str:
        if not len(self._averages) and not self._averages.left_out.functions:
            return "".join(f"{line}\n" for line in self._losses())  # which may be why
        rows = self._first(row_limit)
        columns = self.columns(widths)
        cells = [[column.cell(row) for column in columns] for row in rows]
        sizes = [_width(column, [line[i] for line in cells]) for i, column in enumerate(columns)]
        stacks = [row.stack for row in rows]
        source = _source_width(stacks, widths.source)
        rule = _GAP.join("-" * size for size in [*sizes, *([] if source is None else [source])]) + _GAP
        headings = _headings([column.heading for column in columns], sizes, source)
        lines = [*_preamble(header, top_level_only, len(rule) - len(_GAP)), rule, headings, rule]
        for line, stack in zip(cells, stacks, strict=True):
            lines.extend(_row_lines(line, sizes, stack, source))
        return "\n".join([*lines, rule, *self.footer(), ""])

    def grid(self, row_limit: int) -> Grid:
        rows = self._first(row_limit)
        columns = self.columns(Widths(None, None, None))
        headings = [
            Heading(column.heading, column.is_wide, column.is_name, column.rank) for column in columns
        ]
        cells = [[column.cell(row) for column in columns] for row in rows]
        if any(row.stack for row in rows):
            headings.append(Heading(_SOURCE, is_text=True, rank=11))
            cells = [
                [*line, row.stack[0] if row.stack else ""] for line, row in zip(cells, rows, strict=True)
            ]
        return Grid(headings, cells, captions=self.footer())

    def _first(self, row_limit: int) -> Averages:
        limit = require_int("row_limit", row_limit, -1, (1 << 62), hint="-1 is for all rows")
        return self._shown if limit < 0 else self._shown[:limit]


def _bytes(size: int) -> str:
    for unit, name in _BYTES:
        if abs(size) >= unit:
            return f"{size / unit:.2f} {name}"
    return f"{size} B"


def _scaled_flops(flops: int, scale: int) -> str:
    return f"{flops / 1000**scale:.3f}" if flops > 0 else "--"


def _width(column: Column, cells: Sequence[str]) -> int:
    if not column.is_wide:
        return max(_USUAL_WIDTH, len(column.heading))
    widest = max(len(cell) for cell in [column.heading, *cells]) + _MORE_THAN_LONGEST
    return widest if column.limit is None else min(widest, column.limit)


def _source_width(stacks: Sequence[Sequence[str]], limit: int | None) -> int | None:
    frames = [frame for stack in stacks for frame in stack]
    if not frames:
        return None
    widest = max(map(len, [*frames, _SOURCE])) + _MORE_THAN_LONGEST
    return widest if limit is None else min(widest, limit)


def _headings(headings: Sequence[str], sizes: Sequence[int], source_width: int | None) -> str:
    """Whole, also above a column that is narrower."""
    texts = [heading.rjust(size) for heading, size in zip(headings, sizes, strict=True)]
    tail = [] if source_width is None else [_SOURCE.ljust(source_width)]
    return _GAP.join([*texts, *tail]) + _GAP


def _line(cells: Sequence[str], sizes: Sequence[int], source: str, source_width: int | None) -> str:
    texts = [_cut(cell, size).rjust(size) for cell, size in zip(cells, sizes, strict=True)]
    tail = [] if source_width is None else [_tail(source, source_width).ljust(source_width)]
    return _GAP.join([*texts, *tail]) + _GAP


def _row_lines(
    cells: Sequence[str], sizes: Sequence[int], stack: Sequence[str], source_width: int | None
) -> Iterator[str]:
    """Frames stand below each other, and an empty line ends them."""
    yield _line(cells, sizes, stack[0] if stack else "", source_width)
    if source_width is not None:
        nothing = [""] * len(cells)
        yield from (_line(nothing, sizes, frame, source_width) for frame in [*stack[1:], ""])


def _preamble(header: str | None, top_level_only: bool, width: int) -> Iterator[str]:
    if header is not None:
        yield from ("=" * width, header)
    if top_level_only:
        yield from ("=" * width, "This report only shows events with no other around them")


def _cut(text: str, width: int) -> str:
    """Names may hold anything, and one name is one cell."""
    clean = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    # Of a column of less than three letters PyTorch's own cuts so many less off the end.
    return clean if len(clean) <= width else clean[: width - 3] + "..."


def _tail(path: str, width: int) -> str:
    end = path[max(len(path) - width, 0) :]
    return end if len(path) <= width or len(end) <= 3 else "..." + end[3:]

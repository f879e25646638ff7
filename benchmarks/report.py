"""Turn figures into the Markdown that is printed and, when asked, kept in `results/`."""

import datetime
import math
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path(__file__).with_name("results")


@dataclass(frozen=True)
class Claim:
    """One figure we promise: `value` is to be at most (or at least) `limit`."""

    text: str
    value: float
    at_most: float | None = None
    at_least: float | None = None

    @property
    def holds(self) -> bool:
        under = self.at_most is None or self.value <= self.at_most
        over = self.at_least is None or self.value >= self.at_least
        return under and over

    def row(self) -> tuple[str, str, str, str]:
        limit = f"<= {self.at_most:g}" if self.at_most is not None else f">= {self.at_least:g}"
        return self.text, f"{self.value:.2f}", limit, "PASS" if self.holds else "FAIL"


def ratio(value: float, to: float) -> float:
    """Of two differences, of which noise may leave nothing: then there is nothing to be compared with."""
    return value / to if to > 0 else math.inf


def claims_table(claims: Sequence[Claim]) -> str:
    if not claims:
        return ""
    return table(("promise", "measured", "limit", "holds"), [claim.row() for claim in claims])


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table that also reads well in a terminal: text to the left, figures to the right."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(table_line(cells, widths) for cells in [header, rule, *rows])


def table_line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = cells[0].ljust(widths[0])
    others = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
    return "| " + " | ".join([first, *others]) + " |"


def machine() -> str:
    return f"{cpu_model()}, {os.cpu_count()} cores, CPython {platform.python_version()}, {platform.system()}"


def cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def save(topic: str, text: str) -> Path:
    today = datetime.datetime.now(datetime.UTC).date()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    path = RESULTS / f"{today}-{topic}-{python}.md"
    RESULTS.mkdir(exist_ok=True)
    path.write_text(f"{today}, {machine()}\n\n{text}\n")
    return path

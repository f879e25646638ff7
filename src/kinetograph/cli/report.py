"""What is said of a trace that was just made: where it is, and the top of its summary."""

from __future__ import annotations

import sys

from kinetograph.cli.summary import SummaryOptions, print_summary
from kinetograph.trace import Trace

__all__ = ["print_top"]


def print_top(trace: Trace, rows: int) -> None:
    """To stderr: stdout belongs to the program."""
    if sys.stderr is not None:
        print_summary(trace, SummaryOptions(limit=rows), file=sys.stderr)

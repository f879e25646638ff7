"""What is said of a trace that was just made: where it is, and the top of its summary."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout

from kinetograph.cli.summary import print_summary
from kinetograph.trace import Trace

__all__ = ["print_top"]


def print_top(trace: Trace, rows: int, *, sort: str = "self") -> None:
    """To stderr: stdout belongs to the program."""
    with redirect_stdout(sys.stderr):
        print_summary(trace, sort=sort, limit=rows)

"""A line on the terminal that says what is being done, for what takes longer than a moment."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from kinetograph.run.collect import Tell

__all__ = ["progress"]

# What is over sooner is not worth a flicker.
_PATIENCE_SECONDS = 0.5


@contextmanager
def progress(is_quiet: bool = False) -> Iterator[Tell]:
    """Give a function that takes what is being done; without a terminal on stderr it does nothing."""
    if is_quiet or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _text: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from kinetograph.analysis.grid import printable

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    drawn = Progress(*columns, console=Console(stderr=True), transient=True)
    task = drawn.add_task("")
    begin = time.monotonic()

    def tell(text: str) -> None:
        (shown,) = printable([text])
        drawn.update(task, description=shown)
        if time.monotonic() - begin > _PATIENCE_SECONDS:
            drawn.start()

    try:
        yield tell
    finally:
        drawn.stop()

"""Chrome trace JSON in Kineto's dialect: `.json` and `.json.gz`."""

from __future__ import annotations

from os import PathLike, fspath

from kinetograph.export.gzip_blocks import gzip_blocks
from kinetograph.export.replacing import replacing
from kinetograph.trace import Trace

__all__ = ["save"]


def save(trace: Trace, path: str | PathLike[str]) -> None:
    """Write `trace`; the path stands in the file as "traceName", as Kineto does it."""
    name = fspath(path)
    with replacing(path) as file:
        if not name.endswith(".gz"):
            trace.native.write_chrome_json(file.fileno(), name)
            return
        with gzip_blocks(file.write) as write:
            trace.native.write_chrome_json(write, name)

"""Perfetto's protobuf traces: `.pftrace` and `.perfetto-trace`, plain or with `.gz` behind."""

from __future__ import annotations

from os import PathLike, fspath

from kinetograph.export.gzip_blocks import gzip_blocks
from kinetograph.export.replacing import replacing
from kinetograph.trace import Trace

__all__ = ["save"]


def save(trace: Trace, path: str | PathLike[str]) -> None:
    """Write `trace`. Equal traces give equal bytes, whatever the file is called."""
    with replacing(path) as file:
        if not fspath(path).endswith(".gz"):
            trace.native.write_perfetto(file.fileno())
            return
        with gzip_blocks(file.write) as write:
            trace.native.write_perfetto(write)

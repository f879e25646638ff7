"""What a profile tells of its traces, by the parts that do the work."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from kinetograph import _native
from kinetograph.checks import path_text
from kinetograph.errors import KinetographError, NotAvailable
from kinetograph.trace import Trace
from kinetograph.trace.formats import saver_for, saver_named
from kinetograph.trace.json_text import encodable
from kinetograph.trace.reports import report

__all__ = ["save_as_told", "save_stacks", "together"]


def save_as_told(trace: Trace, path: str | PathLike[str]) -> None:
    """In the format of the suffix; whatever has none that is known becomes Chrome JSON, as in PyTorch."""
    try:
        save = saver_for(path_text("path", path))
    except NotAvailable:
        raise
    except KinetographError:
        save = saver_named(".json")
    save(trace, path)


def save_stacks(trace: Trace, path: str | PathLike[str], metric: str) -> None:
    report("export_stacks")(trace, path, metric)


def together(traces: Sequence[Trace]) -> Trace:
    """One trace of those of several cycles; what stands once in a file is that of the last."""
    joiner = _native.TraceJoiner()
    for trace in traces:
        joiner.append(trace.native)
    whole = Trace(joiner.finish())
    for key, value in traces[-1].native.metadata():
        whole.native.set_metadata(encodable(key), value)
    return whole

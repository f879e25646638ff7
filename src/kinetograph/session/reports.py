"""What a profile tells of its traces, by the parts that do the work."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from os import PathLike

from kinetograph.checks import path_text
from kinetograph.errors import KinetographError, NotAvailable
from kinetograph.trace import Trace
from kinetograph.trace.formats import saver_for
from kinetograph.trace.json_text import encodable

__all__ = ["save_as_told", "save_stacks", "together"]


def save_as_told(trace: Trace, path: str | PathLike[str]) -> None:
    """In the format of the suffix; whatever has none that is known becomes Chrome JSON, as in PyTorch."""
    try:
        save = saver_for(path_text("path", path))
    except NotAvailable:
        raise
    except KinetographError:
        save = import_module("kinetograph.export.chrome").save
    save(trace, path)


def save_stacks(trace: Trace, path: str | PathLike[str], metric: str) -> None:
    import_module("kinetograph.export.stacks").export_stacks(trace, path, metric)


def together(traces: Sequence[Trace]) -> Trace:
    """One trace of those of several cycles."""
    if len(traces) == 1:
        return traces[0]
    whole = Trace()
    for trace in traces:
        _append(whole, trace)
    whole.native.sort()
    whole.native.window = (traces[0].start_ns, traces[-1].end_ns)
    return whole


def _append(whole: Trace, trace: Trace) -> None:
    categories, columns = trace.categories, trace.columns
    for pid, name, labels in trace.processes:
        whole.native.name_process(pid, name, labels)
    for event in trace.events:
        track, row = event.track, event.row
        whole.native.append(
            event.name,
            categories[int(columns["category"][row])],
            event.kind,
            event.start_ns,
            event.duration_ns,
            track.process.pid,
            track.tid,
            track_name=track.name,
            args_json=trace.native.args_of(row),
            correlation=event.correlation_id,
            scope=event.scope,
            flags=int(columns["flags"][row]),
            device_type=track.device_type,
            device_index=track.device_index,
        )
    for key, value in trace.native.metadata():
        whole.native.set_metadata(encodable(key), value)
    for note in trace.notes:
        whole.add_note(note.kind, note.text)

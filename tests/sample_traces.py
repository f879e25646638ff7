"""Small traces built by hand, random ones, and all there is to compare in two of them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from kinetograph.trace import EventFlag, EventKind, RecordScope, Trace

DAY_NS = 86_400_000_000_000
NOW_NS = 20_000 * DAY_NS


def trace_of(*spans: tuple[str, int, int], category: str = "user_annotation", tid: int = 1) -> Trace:
    """Spans (name, start_ns, end_ns) on one thread."""
    trace = Trace()
    for name, start_ns, end_ns in spans:
        trace.native.append(name, category, EventKind.SPAN, start_ns, end_ns - start_ns, 1, tid)
    trace.native.sort()
    return trace


def gpu_trace() -> Trace:
    """An operator that launches a kernel, and the kernel on its stream."""
    trace = Trace()
    native = trace.native
    native.name_process(1, "python", "CPU", 1)
    native.name_process(0, "python", "GPU 0", 5_000_000)
    native.name_track(1, 1, "thread 1 (python)", 1)
    native.name_track(0, 7, "stream 7 ", 7, device_type=1, device_index=0)
    native.append("aten::mm", "cpu_op", EventKind.SPAN, NOW_NS, 9_000, 1, 1, sequence=3)
    native.append(
        "cudaLaunchKernel", "cuda_runtime", EventKind.SPAN, NOW_NS + 2_000, 1_000, 1, 1, correlation=77
    )
    native.append(
        "gemm",
        "kernel",
        EventKind.SPAN,
        NOW_NS + 5_000,
        8_000,
        0,
        7,
        correlation=77,
        args_json='{"stream": 7, "device": 0, "grid": [1, 2, 3]}',
    )
    native.sort()
    native.set_link(1, 0)
    native.set_link(2, 0)
    native.window = (NOW_NS - 1_000, NOW_NS + 20_000)
    return trace


def contents(trace: Trace) -> dict[str, Any]:
    """Everything a trace says, apart from the numbers it gave to its names."""
    native = trace.native
    ids = ("name", "category")
    columns = {name: column.tolist() for name, column in trace.columns.items() if name not in ids}
    return columns | {
        "names": [trace.names[name] for name in trace.columns["name"]],
        "categories": [trace.categories[category] for category in trace.columns["category"]],
        "args": [native.args_of(row) for row in range(len(trace))],
        "processes": native.processes(),
        "tracks": native.tracks(),
        "metadata": native.metadata(),
        "notes": native.notes(),
        "window": native.window,
        "device_properties": native.device_properties,
    }


def parsed_contents(trace: Trace) -> dict[str, Any]:
    """The same, with arguments and metadata as values, however they are spelled."""
    found = contents(trace)
    found["args"] = [json.loads("{" + text + "}") for text in found["args"]]
    found["metadata"] = [(key, json.loads(text)) for key, text in found["metadata"]]
    return found


_names = st.text(max_size=20)
_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _names,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(_names, children, max_size=3),
    max_leaves=6,
)
# Not those that are columns, or ids which only the file has.
_arguments = st.dictionaries(_names.map("key {}".format), _json, max_size=3)
_times = st.integers(0, 60) | st.integers(0, DAY_NS)
_pids = st.sampled_from([1, 2, "worker"])
_tids = st.sampled_from([1, 7, 1_500_000_000, "main"])
_spans = st.fixed_dictionaries(
    {
        "name": _names,
        "category": st.sampled_from(["cpu_op", "user_annotation", "python_function", "kernel", "my own"]),
        "kind": st.just(EventKind.SPAN),
        "duration_ns": _times,
        "scope": st.sampled_from(RecordScope),
        "flags": st.sampled_from([0, EventFlag.UNFINISHED, EventFlag.ASYNC, EventFlag.RESUMED, 3, 7]),
        "correlation": st.sampled_from([0, 5, 2**40]),
        "sequence": st.sampled_from([-1, 0, 12]),
    }
)
_instants = st.fixed_dictionaries(
    {
        "name": _names,
        "category": st.sampled_from(["user_annotation", "cpu_instant_event"]),
        "kind": st.just(EventKind.INSTANT),
        "duration_ns": st.just(0),
    }
)
_counters = st.fixed_dictionaries(
    {
        "name": _names,
        "category": st.just("counter"),
        "kind": st.just(EventKind.COUNTER),
        "duration_ns": st.just(0),
    }
)
_events = st.tuples(_spans | _instants | _counters, _times, _pids, _tids, _arguments)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Any trace: names of any text, crossing spans, several processes, all kinds of arguments."""
    trace = Trace()
    native = trace.native
    base_ns = draw(st.sampled_from([0, NOW_NS]))
    for event, start_ns, pid, tid, args in draw(st.lists(_events, max_size=12)):
        args_json = json.dumps(args, ensure_ascii=False)
        native.append(start_ns=base_ns + start_ns, pid=pid, tid=tid, args_json=args_json, **event)
    native.sort()
    _draw_tables(draw, trace, base_ns)
    return trace


def _draw_tables(draw: st.DrawFn, trace: Trace, base_ns: int) -> None:
    for pid in draw(st.sets(_pids)):
        trace.native.name_process(pid, draw(_names), draw(_names), draw(st.none() | st.integers(0, 9)))
        for tid in draw(st.sets(_tids, max_size=2)):
            device_type = draw(st.sampled_from([0, 1]))
            trace.native.name_track(
                pid, tid, draw(_names), draw(st.none() | st.just(3)), device_type=device_type
            )
    for key, value in draw(st.dictionaries(_names.map("meta {}".format), _json, max_size=2)).items():
        trace.metadata[key] = value
    for kind, text in draw(st.lists(st.tuples(_names, _names), max_size=2)):
        trace.add_note(kind, text)
    if draw(st.booleans()):
        trace.native.window = (base_ns, base_ns + DAY_NS)

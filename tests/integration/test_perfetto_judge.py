"""Perfetto's trace processor finds the same in `.pftrace` and `.json`, and nothing to complain about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import Phase, given, settings

from judges import TRACES, hard_trace, needs_judges, needs_traces, perfetto_answers, recorded_trace
from kinetograph.trace import Event, EventKind, RecordScope, Trace, load
from sample_traces import NOW_NS, trace_of, traces

pytestmark = [pytest.mark.slow, needs_judges]

ONLY_KINETOS = {"External id", "Ev Idx", "Record function id", "Python id", "Python parent id"}
WINDOW = {"PyTorch Profiler (0)", "Iteration Start: PyTorch Profiler", "Record Window End"}
OURS = "kinetograph"
QUERIES = (
    "select name, value from stats where value > 0 and severity != 'info'",
    "select id, ts, dur, name, category, arg_set_id from slice",
    "select slice_out, slice_in from flow",
    "select c.ts, c.value, t.name from counter c join counter_track t on c.track_id = t.id",
    "select arg_set_id, key, value_type, string_value, int_value, real_value"
    " from args where arg_set_id in (select arg_set_id from slice)",
)


@dataclass
class Seen:
    """What the engine made of a file."""

    errors: list[Any]
    times: Counter[tuple[str, int]]
    slices: Counter[Any]
    flows: Counter[Any]
    counters: Counter[Any]


def seen_in(path: Path) -> Seen:
    errors, rows, flows, counters, args = perfetto_answers(path, *QUERIES)
    arguments: dict[int, list[Any]] = {}
    for row in args:
        found = argument(row)
        if found:
            arguments.setdefault(row["arg_set_id"], []).append(found)
    rows = [row for row in rows if row["name"] not in {*WINDOW, OURS}]
    slices = {
        row["id"]: (
            row["name"] or "",
            int(row["dur"]),
            row["category"] or "",
            tuple(sorted(arguments.get(row["arg_set_id"], []))),
        )
        for row in rows
    }
    return Seen(
        errors,
        Counter((row["name"] or "", int(row["ts"])) for row in rows),
        Counter(slices.values()),
        Counter((slices[row["slice_out"]], slices[row["slice_in"]]) for row in flows),
        # JSON adds the series to the name of the counter; ours has it where it is not "value".
        Counter((row["value"], re.sub(" value$", "", row["name"] or "")) for row in counters),
    )


def argument(row: dict[str, Any]) -> tuple[str, str] | None:
    """Key and value. Perfetto writes _ for the signs in names of annotations that have a meaning in keys."""
    prefix, _, key = row["key"].partition(".")
    if prefix not in ("args", "debug") or key in ONLY_KINETOS:
        return None
    value = row["string_value"] if row["value_type"] == "string" else row["int_value"]
    value = f"{row['real_value']:.13g}" if row["value_type"] == "real" else value
    return re.sub(r"[.\[\]]", "_", key), f"{row['value_type']} {value}"


def seen_twice(trace: Trace, folder: Path) -> tuple[Seen, Seen]:
    plain, binary = folder / "trace.json", folder / "trace.pftrace"
    trace.save(plain)
    trace.save(binary)
    return seen_in(plain), seen_in(binary)


def assert_found(seen: Seen, trace: Trace) -> None:
    """The engine found what the trace says, to the nanosecond and the last digit."""
    assert seen.errors == []
    assert seen.times == times_of(trace)
    assert seen.slices == slices_of(trace)
    assert seen.counters == counters_of(trace)


def assert_same(trace: Trace, folder: Path) -> Seen:
    of_json, of_pftrace = seen_twice(trace, folder)
    assert_found(of_pftrace, trace)
    assert without_reals(of_pftrace.slices) == without_reals(of_json.slices)
    assert without_reals(of_pftrace.flows) == without_reals(of_json.flows)
    assert of_pftrace.counters == of_json.counters
    return of_pftrace


def without_reals(counts: Counter[Any]) -> Counter[str]:
    """The engine reads some fractions in JSON wrongly, such as 0.00030637254901960784."""
    found: Counter[str] = Counter()
    for entry, count in counts.items():
        found[re.sub("'real [^']*'", "'real'", repr(entry))] += count
    return found


def times_of(trace: Trace) -> Counter[tuple[str, int]]:
    events = (event for event in trace.events if event.kind is not EventKind.COUNTER)
    return Counter((as_shown(event.name), event.start_ns) for event in events)


def as_shown(text: str) -> str:
    """SQL's strings end at a NUL."""
    return text.partition("\0")[0]


def flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """An argument as the engine's table of arguments has it: a row per leaf, none for what is empty."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(f"{name}.{key}", inner)
    elif isinstance(value, list):
        for index, inner in enumerate(inner for inner in value if inner is not None):
            yield from flat(f"{name}[{index}]", inner)
    elif value is not None:
        yield re.sub(r"[.\[\]]", "_", as_shown(name)), leaf(value)


def leaf(value: Any) -> str:
    if isinstance(value, bool):
        return f"bool {int(value)}"
    if isinstance(value, str):
        return f"string {as_shown(value)}"
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return f"int {value}"
    if isinstance(value, int) and 0 <= value < 2**64:
        return f"uint {value - 2**64}"
    return f"real {float(value) + 0.0:.13g}"


def slices_of(trace: Trace) -> Counter[Any]:
    """What the engine should find, told by the trace itself."""
    return Counter(
        (
            as_shown(event.name),
            event.duration_ns,
            as_shown(event.category),
            tuple(sorted(entry for key, value in all_args(event).items() for entry in flat(key, value))),
        )
        for event in trace.events
        if event.kind is not EventKind.COUNTER
    )


def all_args(event: Event) -> dict[str, Any]:
    args = dict(event.args)
    usual = RecordScope.USER_SCOPE if event.category == "user_annotation" else RecordScope.FUNCTION
    if event.scope != usual:
        args["Record scope"] = int(event.scope)
    if event.is_async:
        args["Async span"] = True
    if event.is_resumed:
        args["Resumed"] = True
    if not event.finished:
        args["finished"] = False
    if event.correlation_id:
        args["correlation"] = event.correlation_id
    if event.sequence_number >= 0:
        args["Sequence number"] = event.sequence_number
    return args


def counters_of(trace: Trace) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for event in trace.events:
        if event.kind is EventKind.COUNTER:
            for key, value in event.args.items():
                if isinstance(value, int | float) and not isinstance(value, bool):
                    name = as_shown(event.name if key == "value" else f"{event.name} {key}")
                    found[float(value), name] += 1
    return found


def test_hard_cases_are_the_same_in_both(tmp_path: Path) -> None:
    trace = hard_trace()
    seen = assert_same(trace, tmp_path)
    assert seen.slices.total() == sum(event.kind is not EventKind.COUNTER for event in trace.events)
    assert seen.flows.total() == 1
    assert seen.counters.total() == 1


def test_what_was_recorded_is_the_same_in_both(tmp_path: Path) -> None:
    seen = assert_same(recorded_trace(), tmp_path)
    assert seen.slices.total() == 3 * 30 * 2 + 3
    assert seen.counters.total() == 1


def odd_trace() -> Trace:
    """Spans of no length and of one start, deep ones, ids of all forms, counters without a number."""
    trace = trace_of(*((f"deep {i}", NOW_NS + i, NOW_NS + 5_000 - i) for i in range(1_000)))
    native = trace.native
    for i, duration_ns in enumerate([0, 0, 10, 10, 0, 3]):
        native.append(f"at once {i}", "cpu_op", EventKind.SPAN, NOW_NS, duration_ns, 1, 2)
    ids = [0, 1, -1, 2**31 - 1, 2**40, "text"]
    for pid in ids:
        for tid in ids:
            native.append(f"span {pid} {tid}", "", EventKind.SPAN, NOW_NS, 5, pid, tid)
            native.append("mark", "cpu_op", EventKind.INSTANT, NOW_NS + 2, 0, pid, tid)
    series = [
        '{"value": 1}',
        '{"value": null}',
        "",
        '{"a": 1, "b": 2.5, "c": [1]}',
        f'{{"value": {2**70 + 1}}}',
    ]
    for args in series:
        native.append("counter", "counter", EventKind.COUNTER, NOW_NS, 0, 1, 1, args_json=args)
    native.append("", "counter", EventKind.COUNTER, NOW_NS, 0, 1, 1, args_json='{"value": 7}')
    for tid in (20, 21):
        native.name_track(1, tid, "same name", device_type=1)
        native.append("apart", "kernel", EventKind.SPAN, NOW_NS, 5, 1, tid)
    native.append("before 1970 begins", "cpu_op", EventKind.SPAN, 0, 1, 1, 99)
    native.sort()
    return trace


def test_odd_cases_are_found_as_they_are(tmp_path: Path) -> None:
    trace = odd_trace()
    trace.save(tmp_path / "trace.pftrace")
    assert_found(seen_in(tmp_path / "trace.pftrace"), trace)


def test_a_trace_without_events_and_one_before_1970_open_without_errors(tmp_path: Path) -> None:
    path = tmp_path / "trace.pftrace"
    Trace().save(path)
    assert seen_in(path).errors == []
    trace = trace_of(("before", -100, -50), ("across", -20, 30))
    trace.save(path)
    seen = seen_in(path)
    assert (seen.errors, seen.slices) == ([], slices_of(trace))


def test_wall_time_notes_and_metadata_can_be_asked_for(tmp_path: Path) -> None:
    trace = hard_trace()
    trace.add_note("dropped", "3 events")
    trace.metadata["distributedInfo"] = {"rank": 3, "backend": "nccl"}
    path = tmp_path / "trace.pftrace"
    trace.save(path)
    args, clocks = perfetto_answers(
        path,
        "select key, coalesce(string_value, int_value) as value from args a join slice s using (arg_set_id)"
        f" where s.name = '{OURS}'",
        "select distinct clock_name, clock_value from clock_snapshot where clock_name is not null",
    )
    values = {row["key"]: row["value"] for row in args}
    assert values["debug.notes[0].kind"] == "dropped"
    assert values["debug.notes[0].text"] == "3 events"
    assert values["debug.metadata.distributedInfo.rank"] == 3
    assert clocks == [{"clock_name": "REALTIME", "clock_value": str(trace.start_ns)}]


def test_threads_tasks_and_streams_are_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "trace.pftrace"
    recorded_trace().save(path)
    threads, tasks = perfetto_answers(
        path,
        "include perfetto module slices.with_context;"
        "select distinct thread_name from thread_slice where name = 'mark'",
        "select distinct t.name from slice s join track t on s.track_id = t.id where s.name = 'task 7'",
    )
    assert len(threads) == 1
    assert all("ask" in row["name"] for row in tasks)
    hard_trace().save(path)
    streams, fake_threads = perfetto_answers(
        path,
        "select distinct t.name, t.type from slice s join track t on s.track_id = t.id where s.name = 'gemm'",
        "select name from thread where name like 'stream%'",
    )
    assert streams == [{"name": "stream 7 ", "type": "process_track_event"}]
    assert fake_threads == []


@settings(max_examples=8, deadline=None, derandomize=True, phases=[Phase.generate])
@given(traces())
def test_any_trace_is_found_as_it_is(trace: Trace) -> None:
    """Not held against the JSON: the engine reads escapes and large numbers in it wrongly."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.pftrace"
        trace.save(path)
        seen = seen_in(path)
    assert_found(seen, trace)


@needs_traces
@pytest.mark.parametrize("path", sorted(Path(TRACES or "/none").glob("*.json*")), ids=lambda path: path.name)
def test_a_real_trace_is_the_same_in_both(path: Path, tmp_path: Path) -> None:
    assert assert_same(load(path), tmp_path).slices.total() > 0

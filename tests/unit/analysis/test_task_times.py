"""What tasks inside kernels took: over SMs, over launches, and what of it was the recording."""

from __future__ import annotations

import json

from kinetograph.analysis.task_times import TaskTimes, task_table, task_times
from kinetograph.trace import EventKind, Trace
from sample_traces import NOW_NS


def inside_trace(*spans: tuple[str, int, int, int, int]) -> Trace:
    """Spans (task, launch, SM, start_ns, end_ns); the block is the SM."""
    trace = Trace()
    trace.native.name_process("inside", "matmul", "GPU 0 stream 7, all launches", None)
    for task, launch, sm, start_ns, end_ns in spans:
        trace.native.name_track("inside", sm, f"SM {sm}", sm, device_type=1, device_index=0)
        args = json.dumps({"block": sm, "sm": sm, "launch": launch})
        start_ns += NOW_NS
        trace.native.append(
            task,
            "intra_kernel",
            EventKind.SPAN,
            start_ns,
            end_ns + NOW_NS - start_ns,
            "inside",
            sm,
            args_json=args,
        )
    trace.native.sort()
    return trace


def by_name(trace: Trace) -> dict[str, TaskTimes]:
    return {row.task: row for row in task_times(trace)}


# SM 0   load ----- dot ---------------
# SM 1   load ----- dot -----
# SM 2   load -----
LAUNCH = (
    ("load", 0, 0, 0, 1_000),
    ("dot", 0, 0, 1_000, 4_000),
    ("load", 0, 1, 0, 1_000),
    ("dot", 0, 1, 1_000, 2_000),
    ("load", 0, 2, 0, 1_000),
)


def test_counts_and_times_of_each_task() -> None:
    rows = by_name(inside_trace(*LAUNCH))
    load, dot = rows["load"], rows["dot"]
    assert (load.kernel, load.count, load.total_ns, load.p50_ns, load.p99_ns) == (
        "matmul",
        3,
        3_000,
        1_000,
        1_000,
    )
    assert (dot.count, dot.total_ns, dot.p50_ns, dot.p99_ns, dot.mean_ns) == (2, 4_000, 1_000, 3_000, 2_000)
    # Blocks took 4, 2 and 1 us.
    assert (round(load.share, 3), round(dot.share, 3)) == (round(3 / 7, 3), round(4 / 7, 3))


def test_an_uneven_task_shows_in_imbalance_and_tail() -> None:
    rows = by_name(inside_trace(*LAUNCH))
    assert (rows["load"].imbalance, rows["load"].tail_ns) == (1, 0)
    # 3 us on one SM, 4/3 on the mean of three; of the two SMs that had it one was done 2 us earlier.
    assert (rows["dot"].imbalance, rows["dot"].tail_ns) == (2.25, 1_000)


def test_launches_are_compared_one_by_one() -> None:
    first = [("dot", 0, 0, 0, 3_000), ("dot", 0, 1, 0, 1_000)]
    second = [("dot", 1, 0, 10_000, 11_000), ("dot", 1, 1, 10_000, 13_000)]
    [row] = task_times(inside_trace(*first, *second))
    # Over both launches the two SMs had the same.
    assert (row.imbalance, row.tail_ns) == (1.5, 1_000)


def test_launches_that_overlap_on_a_track_have_blocks_of_their_own() -> None:
    # 0   a---       a---          launch 0
    # 0         b---       b---    launch 1
    first = [("a", 0, 0, 0, 1_000), ("a", 0, 0, 4_000, 5_000)]
    second = [("b", 1, 0, 2_000, 3_000), ("b", 1, 0, 6_000, 7_000)]
    rows = by_name(inside_trace(*first, *second))
    assert (rows["a"].share, rows["b"].share) == (0.2, 0.2)


def test_recording_that_shows_is_warned_of() -> None:
    quiet = task_table(inside_trace(*LAUNCH))
    assert quiet is not None
    assert not quiet.captions
    often = task_table(inside_trace(*(("dot", 0, 0, 100 * i, 100 * i + 50) for i in range(100))))
    assert often is not None
    # Two records in a hundred nanoseconds.
    assert often.captions == ["recording takes about 40 % of the time of matmul: record less often"]


def test_the_table_has_the_largest_first_and_says_what_is_left_out() -> None:
    table = task_table(inside_trace(*LAUNCH), limit=1)
    assert table is not None
    assert table.title == "Inside kernels"
    assert [row[-1] for row in table.rows] == ["dot"]
    assert table.captions == ["1 more task; --limit shows more"]
    assert "Imbalance" in table.plain()


def test_a_trace_without_such_records_has_no_table() -> None:
    assert task_table(Trace()) is None


def test_launches_of_buffers_that_were_merged_are_told_apart() -> None:
    """Two ranks, each with a trace of a buffer alone; the second ran a second later."""
    trace = Trace()
    for rank, sms in ((0, (0, 1)), (1, (0, 1, 2))):
        for sm in sms:
            process, start_ns = f"rank {rank} SM {sm}", NOW_NS + rank * 1_000_000_000
            trace.native.name_process(process, f"SM {sm}", f"(rank {rank})", None)
            trace.native.name_track(process, sm, f"block {sm}", sm)
            args = json.dumps({"block": sm, "sm": sm, "launch": 0})
            span = ("load", "intra_kernel", EventKind.SPAN, start_ns, 1_000)
            trace.native.append(*span, process, sm, args_json=args)
    trace.native.sort()
    [load] = task_times(trace)
    assert (load.count, load.imbalance, load.tail_ns) == (5, 1, 0)

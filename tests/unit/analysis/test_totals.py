"""Times by name."""

from __future__ import annotations

from kinetograph.analysis.totals import SORT_KEYS, totals
from kinetograph.trace import EventKind
from sample_traces import NOW_NS, gpu_trace, trace_of


#   0    10   20   30   40   50
#   [a                  ]
#        [b   ]   [b  ]    [a ]
def test_counts_and_times_by_name() -> None:
    rows = totals(trace_of(("a", 0, 40), ("b", 10, 20), ("b", 25, 38), ("a", 45, 50)))
    first, second = rows
    assert (first.name, first.count, first.total_ns, first.self_ns) == ("b", 2, 23, 23)
    assert (second.name, second.count, second.total_ns, second.self_ns) == ("a", 2, 45, 22)
    assert (second.min_ns, second.max_ns, second.average_ns) == (5, 40, 22.5)


def test_every_sort_key_sorts() -> None:
    trace = trace_of(("a", 0, 40), ("b", 50, 60), ("b", 70, 75), ("c", 80, 90))
    order = {key: [row.name for row in totals(trace, sort=key)] for key in SORT_KEYS}
    assert order["total"] == ["a", "b", "c"]
    assert order["count"] == ["b", "a", "c"]
    assert order["average"] == ["a", "c", "b"]
    assert order["name"] == ["a", "b", "c"]


def test_categories_filter_and_device_work_is_told_apart() -> None:
    assert [row.name for row in totals(gpu_trace(), categories=["kernel"])] == ["gemm"]
    assert {row.name: row.is_on_device for row in totals(gpu_trace())} == {
        "aten::mm": False,
        "cudaLaunchKernel": False,
        "gemm": True,
    }


def test_what_lies_on_a_stream_is_work_of_a_device_whatever_it_is_called() -> None:
    trace = gpu_trace()
    trace.native.append("range", "cuda_profiler_range", EventKind.SPAN, NOW_NS + 14_000, 10, 0, 7)
    trace.native.append("step", "gpu_user_annotation", EventKind.SPAN, NOW_NS + 4_000, 11_000, 0, 7)
    trace.native.sort()
    rows = {row.name: (row.is_on_device, row.is_device_annotation) for row in totals(trace)}
    assert rows["range"] == (True, False)
    assert rows["step"] == (True, True)
    assert rows["aten::mm"] == (False, False)

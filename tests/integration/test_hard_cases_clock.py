"""Recorded times against clock_gettime, over sessions from microseconds to a minute."""

from __future__ import annotations

import re
import time

import pytest

import kinetograph as kg
from recorded import notes, recording

RAW = time.CLOCK_MONOTONIC_RAW
REAL = time.CLOCK_REALTIME


def error_bound_ns(trace: kg.Trace) -> int:
    (text,) = [text for text in notes(trace, "clock") if text.startswith("times are within")]
    return int(re.match(r"times are within (\d+) ns of CLOCK_MONOTONIC_RAW", text)[1])


def read_beside_marks(duration_ns: int) -> tuple[kg.Trace, list[tuple[int, int]]]:
    """Marks through a session of this length, and what CLOCK_MONOTONIC_RAW said before and after each."""
    reads = []
    with recording(all_threads=False) as window:
        begin = time.clock_gettime_ns(RAW)
        while True:
            before = time.clock_gettime_ns(RAW)
            kg.mark("mark")
            after = time.clock_gettime_ns(RAW)
            reads.append((before, after))
            if after - begin >= duration_ns:
                break
            if duration_ns > 1_000_000:
                time.sleep(duration_ns / 200e9)
    return window.trace, reads


def assert_times_agree(trace: kg.Trace, reads: list[tuple[int, int]]) -> None:
    """One offset from RAW to the trace must put every mark between its two reads, give or take the bound."""
    bound_ns = error_bound_ns(trace)
    starts = trace.columns["start_ns"].tolist()
    assert len(starts) == len(reads)
    least = max(start - after for start, (_, after) in zip(starts, reads, strict=True)) - bound_ns
    most = min(start - before for start, (before, _) in zip(starts, reads, strict=True)) + bound_ns
    assert least <= most
    assert sorted(starts) == starts


def assert_wall_time_agrees(trace: kg.Trace, before: int, after: int) -> None:
    """The session lies between two reads of the wall clock; NTP may have slewed it a little meanwhile."""
    slack_ns = error_bound_ns(trace) + (after - before) // 1000
    assert before - slack_ns <= trace.start_ns <= trace.end_ns <= after + slack_ns


@pytest.mark.parametrize(
    "duration_ns", [20_000, 1_000_000_000, pytest.param(60_000_000_000, marks=pytest.mark.slow)]
)
def test_marks_agree_with_clock_gettime_within_the_bound_that_the_notes_state(duration_ns: int) -> None:
    before = time.clock_gettime_ns(REAL)
    trace, reads = read_beside_marks(duration_ns)
    assert_wall_time_agrees(trace, before, time.clock_gettime_ns(REAL))
    assert_times_agree(trace, reads)
    assert error_bound_ns(trace) < 100_000


def test_many_sessions_of_twenty_microseconds_each_agree() -> None:
    for _ in range(200):
        trace, reads = read_beside_marks(20_000)
        assert_times_agree(trace, reads)


def test_durations_agree_with_clock_gettime() -> None:
    with recording() as window:
        before = time.clock_gettime_ns(RAW)
        with kg.scope("measured"):
            within = time.clock_gettime_ns(RAW)
            time.sleep(0.05)
            end_within = time.clock_gettime_ns(RAW)
        after = time.clock_gettime_ns(RAW)
    duration_ns, slack_ns = window.trace.events[0].duration_ns, 2 * error_bound_ns(window.trace)
    assert end_within - within - slack_ns <= duration_ns <= after - before + slack_ns


def test_the_window_encloses_its_events() -> None:
    for _ in range(100):
        with recording() as window:
            kg.mark("first")
            kg.mark("last")
        starts = window.trace.columns["start_ns"]
        assert window.trace.start_ns <= starts[0] <= starts[1] <= window.trace.end_ns

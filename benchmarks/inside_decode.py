"""Ten million records of a profiler buffer: from its bytes to a trace, to a file, and to the summary."""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness import in_fresh_process
from benchmarks.recorders import PeakMemory
from benchmarks.report import Claim, claims_table, table

SLOTS = 1024
RANGES = 500  # of a segment, two records each
SMS = 132
Figures = dict[str, float]  # seconds by step; "file" and "memory" in bytes


def run(*, quick: bool) -> str:
    segments, rounds = (100, 1) if quick else (10_000, 3)
    runs = [in_fresh_process(decode_and_write, segments) for _ in range(rounds)]
    records = segments * RANGES * 2
    middle = {name: statistics.median(figures[name] for figures in runs) for name in runs[0]}
    steps = ("decode", "write", "summary")
    row = [f"{middle[step]:.2f}" for step in steps]
    row += [f"{middle[name] / records:.0f}" for name in ("file", "memory")]
    header = ("seconds", *steps, "file B/record", "peak memory B/record")
    limit = Claim("seconds to decode and write", middle["decode"] + middle["write"], at_most=3)
    parts = [f"# {records:,} records from inside kernels", table(header, [("kinetograph", *row)])]
    return "\n\n".join([*parts, claims_table([limit])])


def decode_and_write(segments: int) -> Figures:
    from kinetograph import Trace, _native
    from kinetograph.analysis.task_times import task_times

    data = buffer_of(segments)
    memory = PeakMemory()
    figures: Figures = {}
    figures["decode"], trace = timed(lambda: Trace(_native.decode_intra_kernel(data, ["load", "dot"])))
    assert len(trace) == segments * RANGES
    assert not trace.notes
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.perfetto-trace")
        figures["write"], _ = timed(lambda: trace.save(path))
        figures["file"] = path.stat().st_size
    figures["summary"], _ = timed(lambda: task_times(trace))
    figures["memory"] = memory.growth_bytes()
    return figures


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = function()
    return time.perf_counter() - begin, result


def buffer_of(segments: int) -> Any:
    """Two tasks in turn, a range of 100 ns in every 200, at two cycles a nanosecond."""
    import numpy as np

    from kinetograph.intra_kernel import layout

    words = np.zeros((layout.HEADER_SLOTS + segments * SLOTS, 4), dtype=np.uint32)
    words[0] = layout.BUFFER_MAGIC, layout.LAYOUT_VERSION, SLOTS, segments
    words[1, 0], words[1, 2] = layout.HEADER_SLOTS, segments
    parts = words[layout.HEADER_SLOTS :].reshape(segments, SLOTS, 4)
    number = np.arange(segments, dtype=np.uint32)
    blocks = np.full(segments, segments, np.uint32)
    parts[:, 0] = np.stack(
        [np.full_like(number, layout.SEGMENT_MAGIC), number, blocks, 1 << 8 | number % SMS << 16], axis=1
    )
    records = np.arange(RANGES * 2 + 1)
    tags = np.where(records % 2 == 1, layout.KIND_START, layout.KIND_END) | (records - 1) // 2 % 2 << 2
    parts[:, 1 : RANGES * 2 + 2, 0] = np.cumsum(np.where(records, layout.SUM_STEP + tags, 1000))
    parts[:, 1 : RANGES * 2 + 2, 1] = records * 200
    begin_ns = 1_700_000_000_000_000_000 + (number // (2 * SMS)).astype(np.uint64) * 110_000
    times_ns = begin_ns[:, None] + records.astype(np.uint64) * 100
    has_time = (records % 2 == 1) | (records == 0)
    parts[:, 1 : RANGES * 2 + 2, 2:] = (
        np.where(has_time, times_ns, 0).view(np.uint32).reshape(segments, -1, 2)
    )
    return words

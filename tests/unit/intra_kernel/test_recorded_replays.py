"""What an H200 recorded: twenty replays of a graph of two kernels, back to back, that record themselves.

The calibration was 0.6 us off and says 2.5; the kernels are 1.4 us apart.
"""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

from kinetograph import _native
from kinetograph.trace import Trace, load

from synthetic import inside, kernels_by_launch, stated_error_ns  # isort: skip

TRACES = Path(__file__).parents[2] / "traces"
BLOCKS = 16
MEASURED = [(0, 1794921269117730464, -445162, 2478), (0, 1794921269771451296, -447778, 2479)]


def joined() -> Trace:
    trace = load(TRACES / "h200_graph_replays.json.gz")
    contents = gzip.decompress((TRACES / "h200_graph_replays.buffer.gz").read_bytes())
    _native.join_intra_kernel(trace.native, [(contents, ["load", "store"], 0)], MEASURED)
    return trace


def test_every_kernel_of_a_replay_has_its_own_records() -> None:
    trace = joined()
    kernels, records = kernels_by_launch(trace), inside(trace)
    assert len(kernels) == 40
    assert Counter(record.args["launch"] for record in records) == dict.fromkeys(kernels, BLOCKS * 2)
    for record in records:
        kernel = kernels[record.args["launch"]]
        assert kernel.start_ns <= record.start_ns
        assert record.end_ns <= kernel.end_ns


def test_the_kernels_tell_the_clock_better_than_the_calibration() -> None:
    trace = joined()
    assert stated_error_ns(trace) < 500
    assert not [note for note in trace.notes if note.kind == "intra_kernel"]

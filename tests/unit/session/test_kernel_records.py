"""What kernels recorded comes back from a file, and a file that holds something else costs a note."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from kinetograph.run.collect import _add_kernels
from kinetograph.session.kernel_records import KernelRecords, read_kernel_records, write_kernel_records
from kinetograph.trace import Trace


def test_buffers_names_and_calibrations_come_back(tmp_path: Path) -> None:
    contents = [(np.arange(5), ["load", "ладен 🙂\ud800"], 1), (b"", [], -1), (b"\n\0\n", ["x\ny"], 0)]
    write_kernel_records(str(tmp_path / "7"), KernelRecords(contents, [(1, 2**62, -(10**18), 3)]))
    again = read_kernel_records(str(tmp_path / "7"))
    assert again.contents == [(np.arange(5).tobytes(), *contents[0][1:]), *contents[1:]]
    assert again.measured == [(1, 2**62, -(10**18), 3)]
    assert os.listdir(tmp_path) == ["7"]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe",
        b"[]\n",
        b'{"measured": [], "buffers": [{}]}\n',
        b'{"measured": [[0]], "buffers": [{"size_bytes": 0, "task_names": [], "device": 0}]}\n',
        b'{"measured": [], "buffers": [{"size_bytes": 0, "task_names": [], "device": 99999999999}]}\n',
    ],
)
def test_a_file_of_something_else_leaves_the_trace_as_it_was(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "8").write_bytes(text)
    trace = Trace()
    _add_kernels(trace, str(tmp_path / "8"))
    [note] = trace.notes
    assert note.kind == "intra_kernel"
    assert note.text.startswith("8 cannot be read: ")


def test_a_file_that_is_cut_gives_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "9"
    write_kernel_records(str(path), KernelRecords([(b"\7" * 1000, [], 0)], []))
    path.write_bytes(path.read_bytes()[:-900])
    trace = Trace()
    _add_kernels(trace, str(path))
    assert [note.kind for note in trace.notes] == ["damaged"]


def test_no_file_is_nothing_to_tell(tmp_path: Path) -> None:
    trace = Trace()
    _add_kernels(trace, str(tmp_path / "none"))
    assert not trace.notes

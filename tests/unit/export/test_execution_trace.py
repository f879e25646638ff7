"""The file of an execution trace, whatever its nodes and its disk do."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import kinetograph as kg
from kinetograph.export.execution_trace import ExecutionTraceFile


class Nodes:
    """Gives one text after another, and perhaps fails."""

    def __init__(self, texts: list[bytes], error: Exception | None = None) -> None:
        self._texts: Iterator[bytes] = iter(texts)
        self._error = error
        self._is_woken = threading.Event()
        self.is_closed = False

    def stop(self) -> None:
        pass

    def wait(self) -> None:
        if self._error is None:
            self._is_woken.wait(10)

    def wake(self) -> None:
        self._is_woken.set()

    def take(self, *, is_last: bool = False) -> bytes:
        if self._error is not None:
            raise self._error
        return next(self._texts, b"") if is_last else b""

    def close(self) -> int:
        self.is_closed = True
        return 7


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
@pytest.mark.parametrize("starts", [True, False])
def test_all_that_is_left_at_the_end_is_taken_piece_by_piece(
    tmp_path: Path, starts: bool, suffix: str
) -> None:
    nodes = Nodes([b'{"id": 1}', b',{"id": 2}', b',{"id": 3}'])
    file = ExecutionTraceFile(str(tmp_path / f"trace{suffix}"), nodes)
    if starts:
        file.start()
    file.finish()
    content = file.target.read_bytes()
    trace = json.loads(gzip.decompress(content) if suffix.endswith("gz") else content)
    assert [node["id"] for node in trace["nodes"]] == [1, 2, 3]
    assert nodes.is_closed
    assert file.lost_bytes == 7


@pytest.mark.parametrize("starts", [True, False])
def test_whatever_goes_wrong_with_the_nodes_is_told_and_lets_go_of_them(tmp_path: Path, starts: bool) -> None:
    nodes = Nodes([], error=MemoryError("no room"))
    file = ExecutionTraceFile(str(tmp_path / "trace.json"), nodes)
    if starts:
        file.start()
    with pytest.raises(kg.KinetographError, match=r"cannot write .*trace\.json.*no room"):
        file.finish()
    assert nodes.is_closed
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_too_long_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(kg.KinetographError, match="File name too long"):
        ExecutionTraceFile(str(tmp_path / ("x" * 300 + ".json")), Nodes([]))

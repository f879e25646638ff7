"""The file of an execution trace, whatever its nodes and its disk do."""

from __future__ import annotations

import gzip
import json
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import kinetograph as kg
from agents import wait_until
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


def test_who_is_interrupted_in_the_wait_for_a_file_can_wait_for_it_again(tmp_path: Path) -> None:
    """By a real signal, while the writer is at work: it may not be taken for one that has ended."""
    main, may_go_on = threading.main_thread().ident, threading.Event()
    assert main is not None

    class Slow(Nodes):
        def take(self, *, is_last: bool = False) -> bytes:
            if is_last and not may_go_on.is_set():
                wait_until(lambda: sys._current_frames()[main].f_globals is vars(threading))
                signal.pthread_kill(main, signal.SIGUSR2)
                may_go_on.wait(60)
            return super().take(is_last=is_last)

    file = ExecutionTraceFile(str(tmp_path / "trace.json"), Slow([b'{"id": 1}']))
    go_on = threading.Timer(0.2, may_go_on.set)
    before = signal.signal(signal.SIGUSR2, signal.default_int_handler)
    try:
        file.start()
        with pytest.raises(KeyboardInterrupt):
            file.finish()
        go_on.start()
        file.finish()
        is_there = file.target.exists()
    finally:
        signal.signal(signal.SIGUSR2, before)
        go_on.join()
    assert is_there
    assert json.loads(file.target.read_bytes())["nodes"] == [{"id": 1}]

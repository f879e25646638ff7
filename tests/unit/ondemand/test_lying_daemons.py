"""Daemons of other hosts that lie: what they say harms neither this host nor what others give."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from kinetograph.cli.capture import _Report, _tell_of
from kinetograph.ondemand.capture import Outcome, free_path
from kinetograph.ondemand.hosts import Host
from kinetograph.ondemand.many_hosts import HostReport, _spelled, capture_on_hosts
from kinetograph.ondemand.processes import AgentProcess
from kinetograph.ondemand.request import CaptureRequest
from kinetograph.ondemand.visitor import Access

Lies = dict[str, Any]
HONEST: Lies = {
    "hello": {},
    "outcome": {"pid": 7, "status": "finished", "file": 1, "size_bytes": 3, "suffix": "json"},
    "data": b"{ }",
}


@contextmanager
def lying(lies: Lies) -> Iterator[Host]:
    """Serves one visitor, who is told of process 7, and what these members say instead of the truth."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_serve, args=(listener, HONEST | lies))
        thread.start()
        yield Host("127.0.0.1", listener.getsockname()[1])
        thread.join()


def _serve(listener: socket.socket, lies: Lies) -> None:
    visitor, _ = listener.accept()
    with visitor, suppress(OSError):
        while len(header := visitor.recv(8, socket.MSG_WAITALL)) == 8:
            visitor.recv(struct.unpack(">I", header[4:])[0], socket.MSG_WAITALL)
            for frame in _answers(header[3:4], lies):
                visitor.sendall(frame)


def _answers(kind: bytes, lies: Lies) -> list[bytes]:
    if kind == b"H":
        return [_answer("hello", protocol=1, challenge=None, **lies["hello"])]
    if kind == b"L":
        return [_answer("process", pid=7, recorder="kinetograph", state="idle"), _answer("listed")]
    if kind == b"C":
        return [_answer("outcome", **lies["outcome"]), _answer("captured")]
    return [_frame(b"D", lies["data"]), _answer("fetched")]


def _answer(answer: str, **members: Any) -> bytes:
    return _frame(b"A", json.dumps({"answer": answer, **members}).encode())


def _frame(kind: bytes, payload: bytes) -> bytes:
    return b"KG\x01" + kind + struct.pack(">I", len(payload)) + payload


def captured(directory: Path, **lies: Any) -> HostReport:
    with lying(lies) as host:
        (report,) = capture_on_hosts(
            [host], list, CaptureRequest(), str(directory), Access(), lambda _text: None
        )
    return report


def test_one_that_does_not_lie_gives_its_file(tmp_path: Path) -> None:
    (outcome,) = captured(tmp_path).outcomes
    assert outcome.path is not None
    assert Path(outcome.path).read_text() == "{ }"


@pytest.mark.parametrize(
    "outcome",
    [
        {"pid": [7]},
        {"pid": {}},
        {"pid": 8},
        {"pid": 7, "notes": 5, "status": "failed"},
        {"pid": 7, "start_ns": 10**400, "status": "failed"},
        {"pid": 7, "file": True, "size_bytes": 3, "suffix": "json", "status": "failed"},
        {"pid": 7, "file": 1, "size_bytes": 10**30, "suffix": "json", "status": "failed"},
    ],
)
def test_an_outcome_that_cannot_be_meant_is_a_failure(tmp_path: Path, outcome: dict[str, Any]) -> None:
    (seen,) = captured(tmp_path, outcome=outcome).outcomes
    assert (seen.process.pid, seen.status, seen.path) == (7, "failed", None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("time_ns", [10**400, -(10**30), "now", None, True])
def test_a_clock_that_is_none_is_not_compared(tmp_path: Path, time_ns: object) -> None:
    report = captured(tmp_path, hello={"time_ns": time_ns})
    assert (report.reason, report.notes) == ("", [])
    assert report.outcomes[0].has_trace


def test_a_disk_that_is_full_here_is_not_the_fault_of_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_file: object, _piece: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kinetograph.ondemand.visitor._written", refuse)
    (outcome,) = captured(tmp_path).outcomes
    assert outcome.reason.startswith(f"cannot write {tmp_path}")
    assert outcome.reason.endswith("No space left on device; what was recorded stays on its host")
    assert not list(tmp_path.iterdir())


def test_a_name_that_another_file_is_arriving_under_is_taken(tmp_path: Path) -> None:
    process = AgentProcess("", 7, "host")
    (tmp_path / "host-7.json.part").touch()
    assert free_path(str(tmp_path), process, "json") == str(tmp_path / "host-7-2.json")


def test_what_a_daemon_says_does_nothing_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b]0;evil\x07\r\n"
    outcome = Outcome(AgentProcess("", 7), "failed", reason=evil, notes=[evil])
    _tell_of(_Report("host", [outcome], reason=evil, notes=[evil]), quiet=False)
    said = capsys.readouterr().err
    assert all(line.isprintable() for line in said.splitlines())
    assert said.count("]0;evil") == 4


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 1)"), "nobody listens there"),
        (
            OSError("Multiple exceptions: [Errno 111] Connect call failed ('::1', 1, 0, 0), ..."),
            "nobody listens",
        ),
        (OSError(113, "Connect call failed ('10.0.0.7', 1778)"), "No route to host"),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (TimeoutError(), "it does not answer"),
    ],
)
def test_why_a_host_is_not_reached_is_said_in_words_that_help(error: Exception, said: str) -> None:
    assert said in _spelled(error)

"""Whom `kinetograph ps` and `kinetograph capture` believe, and how much: agents that lie."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import shutil
import socket
import struct
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kinetograph.errors import KinetographError
from kinetograph.ondemand.capture import Outcome, capture
from kinetograph.ondemand.peers import agent_sockets, connected
from kinetograph.ondemand.processes import AgentProcess, chosen, processes
from kinetograph.ondemand.request import CaptureRequest

PID = os.getppid()  # some process that is not this one

Lie = Callable[..., None]


@pytest.fixture
def sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Short: the path of a socket has 107 letters at most."""
    directory = Path(tempfile.mkdtemp(prefix="kg-"))
    monkeypatch.setenv("KINETOGRAPH_RUNTIME_DIR", str(directory))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def lie(sockets: Path) -> Iterator[Lie]:
    """Gives one visitor these answers, whatever it asks, and hangs up."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(sockets / f"agent-{PID}-0badcafe.sock"))
    listener.listen(1)
    threads = []

    def start(*answers: dict[str, Any]) -> None:
        threads.append(threading.Thread(target=_answer_once, args=(listener, answers)))
        threads[-1].start()

    yield start
    for thread in threads:
        thread.join()
    listener.close()


def _answer_once(listener: socket.socket, answers: tuple[dict[str, Any], ...]) -> None:
    peer, _ = listener.accept()
    with peer, contextlib.suppress(BrokenPipeError):  # it has heard enough
        peer.recv(1 << 16)
        for answer in answers:
            payload = json.dumps(answer).encode()
            peer.sendall(b"KG\x01A" + struct.pack(">I", len(payload)) + payload)


def _captured(sockets: Path, into: Path, host: str = "host") -> Outcome:
    (path,) = sockets.glob("agent-*.sock")
    process = AgentProcess(str(path), PID, host)
    (outcome,) = capture([process], CaptureRequest(), str(into), lambda text: None)
    return outcome


def _nothing_told(text: str) -> None:
    raise AssertionError(text)


@pytest.mark.usefixtures("lie")
def test_a_directory_that_others_can_enter_is_not_looked_into_and_the_user_hears_of_it(sockets: Path) -> None:
    sockets.chmod(0o755)
    told: list[str] = []
    assert agent_sockets(told.append) == []
    assert str(sockets) in told[0]
    assert "only this user can enter" in told[0]


def test_a_directory_that_is_a_link_is_not_looked_into(
    sockets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(sockets)
    monkeypatch.setenv("KINETOGRAPH_RUNTIME_DIR", str(tmp_path / "link"))
    told: list[str] = []
    assert agent_sockets(told.append) == []
    assert len(told) == 1


def test_no_directory_is_no_reason_to_talk(sockets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINETOGRAPH_RUNTIME_DIR", str(sockets / "none"))
    assert agent_sockets(_nothing_told) == []


def test_a_directory_that_cannot_be_read_is_told_of(sockets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(directory: str) -> list[str]:
        raise PermissionError(13, "Permission denied", directory)  # which root never meets

    monkeypatch.setattr(os, "listdir", refuse)
    told: list[str] = []
    assert agent_sockets(told.append) == []
    assert "Permission denied" in told[0]


@pytest.mark.usefixtures("lie")
def test_who_belongs_to_another_user_is_not_spoken_to(sockets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = map(str, sockets.iterdir())
    peer = connected(path)
    assert peer is not None
    peer.close()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)  # to us, we are the others then
    assert connected(path) is None


@pytest.mark.usefixtures("lie")
def test_who_has_no_room_for_another_visitor_is_silent_and_not_gone(sockets: Path, tmp_path: Path) -> None:
    (path,) = map(str, sockets.iterdir())
    visitors = [connected(path) for _ in range(2)]  # one more than it queues, as the kernel counts
    with pytest.raises(BlockingIOError):
        connected(path)
    (listed,) = processes(_nothing_told)
    assert (listed.pid, listed.state) == (PID, "silent")
    assert "is it stopped?" in _captured(sockets, tmp_path).reason
    for visitor in filter(None, visitors):
        visitor.close()


def test_more_processes_are_asked_than_a_program_has_descriptors_by_default(sockets: Path) -> None:
    listeners = [socket.socket(socket.AF_UNIX) for _ in range(20)]
    for number, listener in enumerate(listeners):
        listener.bind(str(sockets / f"agent-{PID}-{number:08x}.sock"))
        listener.listen(1)
    _, most = limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, most))  # those that are open stay open
    try:
        assert len(processes(_nothing_told)) == 20
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, most))
        with pytest.raises(KinetographError, match="cannot ask so many processes"):
            connected(str(sockets / f"agent-{PID}-{0:08x}.sock"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for listener in listeners:
            listener.close()


def test_a_trace_is_fetched_and_a_host_cannot_name_a_directory(
    lie: Lie, sockets: Path, tmp_path: Path
) -> None:
    written = tmp_path / "written.json"
    written.write_text("{}")
    (tmp_path / "into").mkdir()
    lie({"answer": "finished", "path": str(written), "events": 0})
    outcome = _captured(sockets, tmp_path / "into", host=f"{tmp_path}/evil")
    assert outcome.path is not None
    assert Path(outcome.path).parent == tmp_path / "into"
    assert Path(outcome.path).read_text() == "{}"


@pytest.mark.parametrize("name", ["link.json", "folder.json", "secret_key", "none.json", "nul\0.json"])
def test_what_is_no_trace_file_of_this_user_is_not_fetched(
    lie: Lie, sockets: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "secret_key").write_text("mine")
    (tmp_path / "link.json").symlink_to(tmp_path / "secret_key")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "into").mkdir()
    lie({"answer": "finished", "path": str(tmp_path / name), "events": 0})
    outcome = _captured(sockets, tmp_path / "into")
    assert (outcome.status, outcome.path) == ("failed", None)
    assert "its trace cannot be fetched" in outcome.reason
    assert not list((tmp_path / "into").iterdir())
    assert {path.name for path in tmp_path.iterdir()} == {"secret_key", "link.json", "folder.json", "into"}


def test_what_fails_in_a_process_that_lives_is_its_own_reason(
    lie: Lie, sockets: Path, tmp_path: Path
) -> None:
    started = {"answer": "started", "session_file": str(tmp_path / "any.kgsession")}
    lie(started, {"answer": "failed", "reason": "OSError: the disk is full"})
    outcome = _captured(sockets, tmp_path)
    assert (outcome.status, outcome.reason) == ("failed", "OSError: the disk is full")


def test_a_mapped_file_that_is_a_link_is_not_read(lie: Lie, sockets: Path, tmp_path: Path) -> None:
    (tmp_path / "link.kgsession").symlink_to(tmp_path / "anything")
    lie({"answer": "started", "session_file": str(tmp_path / "link.kgsession")})
    outcome = _captured(sockets, tmp_path)
    assert outcome.status == "failed"
    assert "expected a file of this user" in outcome.reason


def test_a_withdrawal_that_came_too_late_costs_no_trace(lie: Lie, sockets: Path, tmp_path: Path) -> None:
    written = tmp_path / "written.json"
    written.write_text("{}")
    too_late = {"answer": "refused", "reason": "nothing is being captured"}
    lie({"answer": "finished", "path": str(written), "events": 0}, too_late)
    assert _captured(sockets, tmp_path).status == "finished"


@pytest.mark.parametrize("is_full", [False, True])
def test_a_trace_comes_to_another_disk_whole_or_not_at_all(
    lie: Lie, sockets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_full: bool
) -> None:
    written, into = tmp_path / "written.json", tmp_path / "into"
    written.write_text("{}")
    into.mkdir()
    rename, copy = os.rename, shutil.copy2

    def rename_on_one_disk(source: str, target: str) -> None:
        if os.path.dirname(source) != os.path.dirname(target):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(source, target)

    def copy_to_full_disk(source: str, target: str) -> None:
        copy(source, target)
        if is_full:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "rename", rename_on_one_disk)
    monkeypatch.setattr(shutil, "copy2", copy_to_full_disk)
    lie({"answer": "finished", "path": str(written), "events": 0})
    outcome = _captured(sockets, into)
    assert [path.read_text() for path in into.iterdir()] == ([] if is_full else ["{}"])
    assert written.exists() == is_full
    assert ("No space left on device" in outcome.reason) == is_full


@pytest.mark.parametrize("name", ["train[1].py", "train*.py", "t?ain", "train[1].py --rate"])
def test_a_name_is_part_of_a_command_and_brackets_are_nothing_special(name: str) -> None:
    meant = AgentProcess("", 1, command="python train[1].py --rate 3")
    other = AgentProcess("", 2, command="python serve1.py")
    assert chosen([meant, other], name=name) == [meant]

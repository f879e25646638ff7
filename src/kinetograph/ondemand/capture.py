"""Captures of many processes at once: what `kinetograph capture` does, without the talking."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from socket import socket
from typing import Any, NamedTuple

from kinetograph.checks import path_text
from kinetograph.errors import KinetographError, UsageError
from kinetograph.ondemand.peers import Conversation, Withdrawn, connected, talk
from kinetograph.ondemand.processes import AgentProcess
from kinetograph.ondemand.request import CaptureRequest
from kinetograph.ondemand.told import told_number, told_suffix, told_text, told_texts
from kinetograph.ondemand.wire import CANCEL, CAPTURE, framed
from kinetograph.session.recover import recover_file

__all__ = ["Outcome", "capture", "free_path"]

Tell = Callable[[str], None]

# The agent gives a sign of life twice a second, whatever the program does.
_MOST_SILENCE = 10
_LAST = ("finished", "refused", "failed", "cancelled")
# For the kernel to let go of the mapped file of a process that has just died.
_MOST_DYING_SECONDS = 5
_LONGEST_HOST = 64


class Outcome(NamedTuple):
    """What became of the capture of one process."""

    process: AgentProcess
    status: str
    """finished, rescued, refused, failed or cancelled."""
    path: str | None = None
    size_bytes: int = 0
    events: int | None = None
    """None where nobody has counted: PyTorch writes files without reading them."""
    reason: str = ""
    notes: Sequence[str] = ()
    start_ns: int | None = None
    """Wall time, as the process told it; None for one of PyTorch, which tells nothing."""

    @property
    def has_trace(self) -> bool:
        return self.path is not None


def capture(
    processes: Iterable[AgentProcess],
    request: CaptureRequest,
    directory: str,
    tell: Tell,
    withdrawal: socket | None = None,
) -> list[Outcome]:
    """Ask all of them, wait for all, and bring what they recorded into `directory`.

    One that fails does not keep the others from theirs. Ctrl-C withdraws the request, everywhere, and so does
    WITHDRAW at `withdrawal`. Where that ends, nobody waits any more: it raises Abandoned, and what was
    recorded stays with the processes.
    """
    asked: list[_Asking] = []
    unreachable: list[Outcome] = []
    for process in processes:
        peer, reason = _reached(process.path)
        if peer is None:
            unreachable.append(Outcome(process, "failed", reason=reason))
        else:
            asked.append(_Asking(process, peer, request, tell))
    try:
        _talk_or_withdraw(asked, withdrawal)
    finally:
        for each in asked:
            each.close()
    return [*(each.outcome(directory) for each in asked), *unreachable]


def _reached(path: str) -> tuple[socket | None, str]:
    """The connection, or why there is none."""
    try:
        return connected(path), "its agent is gone"
    except BlockingIOError:
        return None, "it does not answer, and has more visitors than it takes: is it stopped?"


def _talk_or_withdraw(asked: list[_Asking], withdrawal: socket | None) -> None:
    try:
        talk(asked, most_silence=_MOST_SILENCE, withdrawal=withdrawal)
    except (KeyboardInterrupt, Withdrawn):
        for each in asked:
            each.withdraw()
        talk(asked, most_silence=_MOST_SILENCE)


class _Asking(Conversation):
    """The request to one process, and how far it has come."""

    def __init__(self, process: AgentProcess, peer: socket, request: CaptureRequest, tell: Tell) -> None:
        super().__init__(process.path, peer)
        self._process = process
        self._tell = tell
        self._last: dict[str, Any] = {}
        self._session_file: str | None = None
        self._start_ns: int | None = None
        self._is_lost = False
        self.send(framed(CAPTURE, request.to_json()))

    def take(self, answer: dict[str, Any]) -> None:
        kind = answer["answer"]
        if kind == "started":
            self._session_file = told_text(answer, "session_file") or None
            self._start_ns = told_number(answer, "start_ns")
        if kind in _LAST:
            self._last = answer
            self.is_over = True
        state, step = told_text(answer, "state") or kind, told_number(answer, "step")
        at = f", step {step}" if step else ""
        self._tell(f"process {self._process.pid}: {state}{at}")

    def lose(self, reason: str) -> None:
        super().lose(reason)
        self._is_lost = True
        self._last = {"answer": "failed", "reason": reason}

    def withdraw(self) -> None:
        if not self.is_over:
            self.send(framed(CANCEL))

    # What came of it

    def outcome(self, directory: str) -> Outcome:
        answer = self._last
        if answer["answer"] == "finished" and answer.get("path"):
            return self._fetched(answer, directory)
        # One that could still say what failed is not dead.
        if self._is_lost and self._session_file:
            return self._rescued(self._session_file, directory)
        reason, hint = told_text(answer, "reason"), told_text(answer, "hint")
        reason += f" ({hint})" if hint else ""
        return Outcome(self._process, answer["answer"], reason=reason, notes=told_texts(answer, "notes"))

    def _fetched(self, answer: dict[str, Any], directory: str) -> Outcome:
        written = str(answer["path"])
        try:
            _require_own_file(written)
            suffix = told_suffix(os.path.basename(written).partition(".")[2])
            path = free_path(directory, self._process, suffix)
            _move(written, path)
        except (KinetographError, OSError) as error:
            reason = f"its trace cannot be fetched from {written!r}: {error}"
            return Outcome(self._process, "failed", reason=reason)
        return Outcome(
            self._process,
            "finished",
            path,
            os.path.getsize(path),
            told_number(answer, "events"),
            told_text(answer, "reason"),
            told_texts(answer, "notes"),
            self._start_ns,
        )

    def _rescued(self, session_file: str, directory: str) -> Outcome:
        """Of a process that has ended in the middle, what it had recorded until then."""
        path = free_path(directory, self._process, "json.gz")
        try:
            _require_own_file(session_file)
            _wait_until_free(session_file)
            trace = recover_file(session_file)
            trace.add_note("capture", "the process ended in the middle of it")
            trace.save(path)
        except (KinetographError, OSError, RuntimeError) as error:
            reason = f"{self._last['reason']}, and what it recorded cannot be read: {error}"
            return Outcome(self._process, "failed", reason=reason)
        with suppress(OSError):
            os.unlink(session_file)
        notes = [f"{note.kind}: {note.text}" for note in trace.notes]
        reason = "the process ended in the middle of it"
        size_bytes = os.path.getsize(path)
        return Outcome(self._process, "rescued", path, size_bytes, len(trace), reason, notes, self._start_ns)


def _require_own_file(path: str) -> None:
    """A process says where its file is, and is not believed more than that: no link, nothing of others."""
    path_text("path", path)
    found = os.lstat(path)
    if not os.path.isabs(path) or not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        raise UsageError("expected a file of this user")


def _move(written: str, path: str) -> None:
    """Whole or not at all: the disk that it goes to may be another one, and full."""
    try:
        os.rename(written, path)
        return
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    part = f"{path}.part"
    try:
        shutil.copy2(written, part)
        os.rename(part, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise
    os.unlink(written)


def _wait_until_free(session_file: str) -> None:
    """Raises for a process that still runs: it is stopped, or its agent is at fault."""
    from kinetograph import _native

    give_up = time.monotonic() + _MOST_DYING_SECONDS
    while _native.session_file_info(session_file)["is_in_use"]:
        if time.monotonic() > give_up:
            raise KinetographError(f"the process still runs, and records to {session_file}")
        time.sleep(0.01)


def free_path(directory: str, process: AgentProcess, suffix: str) -> str:
    """Named by host, rank and pid; nothing that is there is overwritten."""
    rank = "" if process.rank is None else f"-rank{process.rank}"
    # As the process calls it, which may be anything.
    host = re.sub(r"[^\w.-]", "_", process.host[:_LONGEST_HOST]).lstrip(".") or "host"
    stem = os.path.join(directory, f"{host}{rank}-{process.pid}")
    path, number = f"{stem}.{suffix}", 1
    while os.path.lexists(path) or os.path.lexists(f"{path}.part"):  # which is on its way
        number += 1
        path = f"{stem}-{number}.{suffix}"
    return path

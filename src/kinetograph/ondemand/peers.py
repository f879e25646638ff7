"""Talking to many agents at once: one connection each, one loop for all, and nobody waits for the slowest."""

from __future__ import annotations

import os
import selectors
import socket
import stat
import struct
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from kinetograph.errors import KinetographError, UsageError
from kinetograph.ondemand.places import KINETO_PREFIX, pid_in_name, require_own_sockets, socket_directories
from kinetograph.ondemand.wire import AnswerReader

__all__ = [
    "Conversation",
    "WITHDRAW",
    "Abandoned",
    "Withdrawn",
    "agent_sockets",
    "connected",
    "credentials",
    "talk",
]

_CREDENTIALS = struct.Struct("iII")
_MOST_UNREADY_SECONDS = 60


class _Credentials(NamedTuple):
    pid: int
    user: int
    group: int


def agent_sockets(tell: Callable[[str], None]) -> list[str]:
    """Those of this user that have a file; whether somebody listens is another question.

    `tell` hears of directories that are left out. What processes left that were killed before their socket
    had its name is removed.
    """
    found: list[str] = []
    for directory in socket_directories():
        for name in _names_in(directory, tell):
            path = os.path.join(directory, name)
            if pid_in_name(name):
                found.append(path)
            elif name.startswith(".") and (pid := pid_in_name(name[1:])):
                _remove_if_stale(path, pid)
    return found


def _remove_if_stale(unready: str, pid: int) -> None:
    """A process of another namespace is not seen: so its age tells, too. It has its name a moment later."""
    with suppress(OSError):
        found = os.lstat(unready)
        is_old = time.time() - found.st_mtime > _MOST_UNREADY_SECONDS
        if stat.S_ISSOCK(found.st_mode) and is_old and not os.path.exists(f"/proc/{pid}"):
            os.unlink(unready)


def _names_in(directory: str, tell: Callable[[str], None]) -> list[str]:
    try:
        require_own_sockets(directory)
        return sorted(os.listdir(directory))
    except FileNotFoundError:
        pass
    except (UsageError, OSError) as error:
        tell(f"no agent is looked for in {directory}: {str(error).partition(chr(10))[0]}")
    return []


def connected(path: str) -> socket.socket | None:
    """None if nobody of this user listens there. If nobody does, the file is removed: its process is gone.

    Raises BlockingIOError where so many wait already that there is no room: its process is stopped; and
    KinetographError where this process has no descriptor left.
    """
    peer = _new_socket()
    try:
        # A full queue answers at once that it is full; only a listener on its way out would be waited for.
        peer.settimeout(1)
        peer.connect(path)
        peer.setblocking(False)
        if credentials(peer).user == os.geteuid():
            return peer
    except BlockingIOError:
        peer.close()
        raise
    except ConnectionRefusedError:
        with suppress(OSError):
            os.unlink(path)
    except OSError:  # gone in between
        pass
    peer.close()
    return None


def _new_socket() -> socket.socket:
    try:
        return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    except OSError as error:
        raise KinetographError(
            f"cannot ask so many processes: {error.strerror}", hint="`ulimit -n` says how many at once"
        ) from error


def credentials(peer: socket.socket) -> _Credentials:
    """Of the process at the other end, as the kernel has them."""
    found = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return _Credentials(*_CREDENTIALS.unpack(found))


class Withdrawn(Exception):  # noqa: N818  (nothing is wrong)
    """Whoever asked wants no more of it, and said so through the socket that `talk` was given for that."""


class Abandoned(Exception):  # noqa: N818
    """Whoever asked is gone, and that socket has ended."""


WITHDRAW = b"x"


class Conversation(ABC):
    """One connection. A subclass takes the answers, and says when it has heard enough."""

    def __init__(self, path: str, peer: socket.socket) -> None:
        self.path = path
        self.peer = peer
        self.is_over = False
        self.heard = time.monotonic()
        self._reader = AnswerReader()

    @property
    def pid(self) -> int:
        """As the kernel has it here: in a container the process itself may know another one.

        Of a socket that a daemon has in the name of a process, as the daemon has it from the kernel.
        """
        name = os.path.basename(self.path)
        return pid_in_name(name) if name.startswith(KINETO_PREFIX) else credentials(self.peer).pid

    @abstractmethod
    def take(self, answer: dict[str, Any]) -> None: ...

    def lose(self, reason: str) -> None:
        """The connection has ended, and nothing more comes."""
        self.is_over = True

    def send(self, frame: bytes) -> None:
        try:
            self.peer.sendall(frame)  # a few hundred bytes into an empty buffer
        except OSError as error:
            self.lose(f"the connection has ended: {error.strerror}")

    def hear(self) -> None:
        try:
            received = self.peer.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            received = b""
        if not received:
            self.lose("the connection has ended")
            return
        self.heard = time.monotonic()
        try:
            for answer in self._reader.answers(received):
                # Behind the last one comes what a withdrawal is answered that came too late.
                if not self.is_over:
                    self.take(answer)
        except KinetographError as error:
            self.lose(str(error))

    def close(self) -> None:
        self.peer.close()


def talk(
    conversations: Iterable[Conversation], *, most_silence: float, withdrawal: socket.socket | None = None
) -> None:
    """Until all are over; one that is silent for so many seconds is lost. Raises Withdrawn and Abandoned."""
    with selectors.DefaultSelector() as selector:
        open_ones = {conversation for conversation in conversations if not conversation.is_over}
        for conversation in open_ones:
            selector.register(conversation.peer, selectors.EVENT_READ, conversation)
        if withdrawal is not None:
            selector.register(withdrawal, selectors.EVENT_READ)
        while open_ones:
            silent_at = min(conversation.heard for conversation in open_ones) + most_silence
            for key, _events in selector.select(max(0, silent_at - time.monotonic())):
                if key.data is not None:
                    key.data.hear()
                elif withdrawal is not None:
                    raise Withdrawn if withdrawal.recv(1) == WITHDRAW else Abandoned
            for conversation in open_ones:
                if time.monotonic() - conversation.heard >= most_silence and not conversation.is_over:
                    conversation.lose(f"nothing was heard for {most_silence:g} s: is it stopped?")
            for conversation in [each for each in open_ones if each.is_over]:
                open_ones.remove(conversation)
                selector.unregister(conversation.peer)

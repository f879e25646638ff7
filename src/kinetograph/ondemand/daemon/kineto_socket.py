"""The socket that PyTorch's processes poll. It has no protection of its own, so the kernel says who sends."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import socket
import stat
import struct
from contextlib import suppress
from typing import NamedTuple

from kinetograph.errors import KinetographError, UsageError
from kinetograph.ondemand.daemon.kineto_processes import KinetoProcesses
from kinetograph.ondemand.daemon.kineto_wire import (
    MOST_DATAGRAM_BYTES,
    Poll,
    parsed,
    poll_reply,
    registration_reply,
)

__all__ = ["KinetoSocket"]

_NAME = "dynolog"
_CLIENT_NAME = re.compile(r"dynoconfigclient[0-9a-f-]{36}")
_CREDENTIALS = struct.Struct("iII")
# So many at a time, for TCP wants its turn as well.
_MOST_AT_ONCE = 64


class _Received(NamedTuple):
    datagram: bytes
    address: bytes | str
    pid: int
    user: int


class KinetoSocket:
    """Answers polls, at once: a process waits 90 ms for that. Whatever else arrives is dropped."""

    def __init__(self, processes: KinetoProcesses, directory: str, all_users: bool) -> None:
        """`directory` as KINETO_IPC_SOCKET_DIR has it; empty: the abstract name."""
        self._processes = processes
        self._all_users = all_users
        self._path = os.path.join(directory, _NAME) if directory else ""
        # The trailing zero is part of Kineto's name.
        self._address: str | bytes = self._path or f"\0{_NAME}\0".encode()
        self._socket = self._bound()
        asyncio.get_running_loop().add_reader(self._socket, self._take_all)

    @property
    def spelled_address(self) -> str:
        return self._path or f"the abstract socket {_NAME!r}"

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()
        if self._path:
            with suppress(OSError):
                os.unlink(self._path)

    def look_after_file(self) -> None:
        """Who cleans up among temporary files may have taken it, and no poll comes without."""
        if self._path and not os.path.lexists(self._path):
            with suppress(KinetographError):  # next time
                fresh = self._bound()
                asyncio.get_running_loop().remove_reader(self._socket)
                self._socket.close()
                self._socket = fresh
                asyncio.get_running_loop().add_reader(self._socket, self._take_all)

    def forget(self, address: bytes | str) -> None:
        """The process is gone, and its file, which Kineto leaves, goes too."""
        path = os.fsdecode(address)
        is_ours = self._path and os.path.dirname(path) == os.path.dirname(self._path)
        if is_ours and _CLIENT_NAME.fullmatch(os.path.basename(path)):
            with suppress(OSError):
                os.unlink(path)

    def _bound(self) -> socket.socket:
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            if self._path:
                self._remove_stale()
            bound.bind(self._address)
            if self._path:
                os.chmod(self._path, 0o666 if self._all_users else 0o600)
        except OSError as error:
            bound.close()
            raise self._unusable(error) from error
        return bound

    def _remove_stale(self) -> None:
        """A socket that nobody has open any more refuses; so does a file that is none, which stays."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(self._path)
            except ConnectionRefusedError:
                if stat.S_ISSOCK(os.lstat(self._path).st_mode):
                    os.unlink(self._path)
            except FileNotFoundError:
                pass

    def _unusable(self, error: OSError) -> KinetographError:
        where = self.spelled_address
        if error.errno == errno.EADDRINUSE:
            return UsageError(
                f"{where} is taken: another daemon listens to PyTorch's processes here, or it is no socket",
                hint="end that one, name another --kineto-directory, or start with --no-kineto",
            )
        reason = error.strerror or error  # Python's own words where a path is too long
        return UsageError(f"cannot listen at {where}: {reason}", hint="name another directory")

    # What arrives

    def _take_all(self) -> None:
        for _ in range(_MOST_AT_ONCE):
            received = self._received()
            if received is None:
                return
            if received.user == os.geteuid() or self._all_users:
                self._take(received)

    def _received(self) -> _Received | None:
        """None if there is nothing more. One without credentials, or without an address, is from nobody."""
        try:
            datagram, ancillary, flags, address = self._socket.recvmsg(
                MOST_DATAGRAM_BYTES, socket.CMSG_SPACE(_CREDENTIALS.size)
            )
        except OSError:
            return None
        pid, user = 0, -1
        for level, kind, found in ancillary if address else ():
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                pid, user, _group = _CREDENTIALS.unpack(found[: _CREDENTIALS.size])
        return _Received(b"" if flags & socket.MSG_TRUNC else datagram, address or b"", pid, user)

    def _take(self, received: _Received) -> None:
        try:
            message = parsed(received.datagram)
        except KinetographError:
            return
        if not isinstance(message, Poll):
            same = [each for each in self._processes if each.poll.job == message.job]
            self._reply(registration_reply(len(same)), received.address)
            return
        process = self._processes.polled(received.pid, received.user, message, received.address)
        if process is None:
            return
        offered = process.offered
        if self._reply(poll_reply(offered), received.address) and offered:
            process.take()

    def _reply(self, datagram: bytes, address: bytes | str) -> bool:
        """False for one that takes no answer: it asks again."""
        try:
            self._socket.sendto(datagram, address)
        except OSError:
            return False
        return True

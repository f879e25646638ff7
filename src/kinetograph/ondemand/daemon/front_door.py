"""The TCP port: who may come in, and which of the two protocols a visitor speaks."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from kinetograph.errors import UsageError
from kinetograph.ondemand.daemon.acceptor import Acceptor, streams
from kinetograph.ondemand.daemon.dynolog import LENGTH_BYTES, Dynolog
from kinetograph.ondemand.daemon.guests import Guests
from kinetograph.ondemand.daemon.loopback import is_loopback, user_of_connection
from kinetograph.ondemand.daemon.visit import Visit
from kinetograph.ondemand.frames import close
from kinetograph.ondemand.hosts import spelled
from kinetograph.ondemand.wire import MAGIC

__all__ = ["MOST_VISITORS", "Admission", "FrontDoor"]

MOST_VISITORS = 64
_FIRST_BYTES_SECONDS = 5.0
_KEEP_ALIVE_SECONDS = 30
_MOST_LOOKING = 4


class Admission(NamedTuple):
    """What a visitor has to show."""

    token: bytes | None = None
    tls: ssl.SSLContext | None = None

    @property
    def wants_certificates(self) -> bool:
        return self.tls is not None and self.tls.verify_mode is ssl.CERT_REQUIRED

    def require_enough_for(self, address: str) -> None:
        """Beyond this host anybody could come, and only the kernel of this host says who is in it."""
        if not is_loopback(address) and self.token is None and not self.wants_certificates:
            raise UsageError(
                f"{address} can be reached from other hosts, where everybody could look into processes",
                hint="demand a token (--token-file) or certificates (--tls-certificate with --tls-clients)",
            )

    async def lets_in(self, connection: socket.socket, looking: Executor) -> bool:
        """Without a token or a certificate: this user, from this host. The table that says so may be long."""
        if self.token is not None or self.wants_certificates:
            return True
        peer, own = connection.getpeername()[:2], connection.getsockname()[:2]
        if not is_loopback(peer[0]):
            return False
        user = await asyncio.get_running_loop().run_in_executor(looking, user_of_connection, peer, own)
        return user == os.geteuid()


class FrontDoor:
    """Takes a few dozen visitors at a time. Whoever says nothing, or nothing of ours, is let go."""

    def __init__(self, admission: Admission, dynolog: Dynolog) -> None:
        self._admission = admission
        self._dynolog = dynolog
        # Of our own: strangers shall not take the threads of captures.
        self._looking = ThreadPoolExecutor(_MOST_LOOKING)
        self._guests = Guests(MOST_VISITORS, partial(admission.lets_in, looking=self._looking))
        self._acceptor = Acceptor(self._visited)

    async def open(self, address: str, port: int) -> int:
        """Gives the port, which the system chooses where it is 0."""
        self._admission.require_enough_for(address)
        try:
            return await self._acceptor.open(address, port)
        except (OSError, UnicodeError) as error:
            raise _unusable(spelled(address, port), error) from error

    async def close(self) -> None:
        await self._acceptor.close()
        await self._guests.send_away()
        self._looking.shutdown(wait=False)

    async def _visited(self, connection: socket.socket) -> None:
        """One whose handshake is under way has a place among the guests, too."""
        with connection:
            await self._guests.serve(connection, partial(self._received, connection))

    async def _received(self, connection: socket.socket) -> None:
        _notice_when_gone(connection)
        reader, writer = await streams(connection, self._admission.tls, _FIRST_BYTES_SECONDS)
        try:
            await self._talk(reader, writer)
        finally:
            await close(writer)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """As a length of dynolog's, our first bytes would announce more than a gigabyte."""
        async with asyncio.timeout(_FIRST_BYTES_SECONDS):
            first = await reader.readexactly(LENGTH_BYTES)
        if first.startswith(MAGIC):
            await Visit(reader, writer, self._admission.token, self._guests.stay).serve(first)
        else:
            await self._dynolog.serve(first, reader, writer, self._admission.token)


def _unusable(where: str, error: OSError | UnicodeError) -> UsageError:
    is_taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
    hint = "end whoever has it, or name another --port" if is_taken else "name another address to --listen"
    reason = _reason(error) if isinstance(error, OSError) else "that is no name of a host"
    return UsageError(f"cannot listen at {where}: {reason}", hint=hint)


def _reason(error: OSError) -> str | None:
    """Of the system; Python has words of its own for it, which say less. Names that are unknown have none."""
    number = error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror


def _notice_when_gone(connection: socket.socket) -> None:
    """Of a host that lost its power nothing comes, not even that nothing comes any more."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEP_ALIVE_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEP_ALIVE_SECONDS // 3)

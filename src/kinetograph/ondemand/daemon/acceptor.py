"""Takes connections at an address, and hands each over before anything of it is read.

`asyncio.start_server` would keep to itself those that are in the middle of a TLS handshake, however many.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable

__all__ = ["Acceptor", "streams"]

# Where there is no descriptor left for a visitor.
_TRY_AGAIN_SECONDS = 0.1


class Acceptor:
    def __init__(self, on_accepted: Callable[[socket.socket], Awaitable[None]]) -> None:
        """`on_accepted` is called in a task of its own, and closes the connection in the end."""
        self._on_accepted = on_accepted
        self._listeners: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._accepting: list[asyncio.Task[None]] = []

    async def open(self, address: str, port: int) -> int:
        """Gives the port, which the system chooses where it is 0. Raises OSError or UnicodeError."""
        found = await asyncio.get_running_loop().getaddrinfo(
            address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, name in dict.fromkeys((family, name) for family, _, _, _, name in found):
            listener = socket.create_server(name, family=family, backlog=100)
            listener.setblocking(False)
            self._listeners.append(listener)
            self._accepting.append(asyncio.create_task(self._accept(listener)))
        return int(self._listeners[0].getsockname()[1])

    async def close(self) -> None:
        """Those that have been handed over are not our business any more."""
        for task in self._accepting:
            task.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        for listener in self._listeners:
            listener.close()

    async def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = await asyncio.get_running_loop().sock_accept(listener)
            except OSError:
                await asyncio.sleep(_TRY_AGAIN_SECONDS)
            else:
                task = asyncio.ensure_future(self._on_accepted(connection))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)


async def streams(
    connection: socket.socket, tls: ssl.SSLContext | None, most_seconds: float
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Behind the handshake, if there is one. Raises OSError for one that fails or takes longer."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.connect_accepted_socket(
        lambda: protocol,
        connection,
        ssl=tls,
        ssl_handshake_timeout=None if tls is None else most_seconds,
    )
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)

"""Who is at the door is looked up while others are served."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kinetograph.ondemand.daemon import front_door
from kinetograph.ondemand.daemon.front_door import Admission


def test_a_long_table_of_connections_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    is_read = threading.Event()

    def read_slowly(*_ends: object) -> int | None:
        return os.geteuid() if is_read.wait(20) else None

    monkeypatch.setattr(front_door, "user_of_connection", read_slowly)

    async def visit(connection: socket.socket) -> bool:
        asyncio.get_running_loop().call_soon(is_read.set)  # which has to run while the table is read
        return await Admission().lets_in(connection, looking)

    with (
        ThreadPoolExecutor() as looking,
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()),
        server.accept()[0] as connection,
    ):
        assert asyncio.run(visit(connection))

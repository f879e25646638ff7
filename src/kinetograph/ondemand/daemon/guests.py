"""Those who are connected: so many at most, each served until it goes, does wrong, or the daemon ends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

from kinetograph.errors import KinetographError
from kinetograph.ondemand.frames import close

__all__ = ["Guests"]


class Guests:
    def __init__(self, most: int, is_welcome: Callable[[socket.socket], bool]) -> None:
        self._most = most
        self._is_welcome = is_welcome
        self._served: set[asyncio.Task[None]] = set()

    async def serve(self, writer: asyncio.StreamWriter, talk: Callable[[], Awaitable[None]]) -> None:
        """In the task of the connection."""
        task = asyncio.current_task()
        assert task is not None
        self._served.add(task)
        try:
            if len(self._served) <= self._most and self._is_welcome(writer.get_extra_info("socket")):
                await talk()
        except (KinetographError, OSError, TimeoutError, asyncio.IncompleteReadError):
            pass  # garbage, gone, slow: all are let go
        except asyncio.CancelledError:
            pass  # by `send_away`; nobody else has this task, and Python 3.11 would complain of it
        finally:
            self._served.discard(task)
            await close(writer)

    async def send_away(self) -> None:
        """All of them, and wait until they are gone."""
        served = [*self._served]
        for task in served:
            task.cancel()
        await asyncio.gather(*served, return_exceptions=True)

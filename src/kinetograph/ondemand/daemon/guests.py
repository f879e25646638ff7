"""Those who are connected: so many at most, each served until it goes, does wrong, or the daemon ends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

from kinetograph.errors import KinetographError

__all__ = ["Guests"]


class Guests:
    """Where the house is full, a stranger makes room for the next one: else strangers could keep it full."""

    def __init__(self, most: int, is_welcome: Callable[[socket.socket], Awaitable[bool]]) -> None:
        self._most = most
        self._is_welcome = is_welcome
        self._served: dict[asyncio.Task[None], bool] = {}  # who came first is first; true: it stays

    async def serve(self, connection: socket.socket, talk: Callable[[], Awaitable[None]]) -> None:
        """In the task of the connection, which is left to its owner to close."""
        self._make_room()
        task = _this_task()
        self._served[task] = False
        try:
            if len(self._served) <= self._most and await self._is_welcome(connection):
                await talk()
        except (KinetographError, OSError, TimeoutError, asyncio.IncompleteReadError):
            pass  # garbage, gone, slow: all are let go
        except asyncio.CancelledError:
            pass  # by one of ours; nobody else has this task, and Python 3.11 would complain of it
        finally:
            self._served.pop(task, None)

    def stay(self) -> None:
        """The guest of this task has shown who it is, and need not make room for others."""
        self._served[_this_task()] = True

    async def send_away(self) -> None:
        """All of them, and wait until they are gone."""
        served = [*self._served]
        for task in served:
            task.cancel()
        await asyncio.gather(*served, return_exceptions=True)

    def _make_room(self) -> None:
        strangers = [task for task, stays in self._served.items() if not stays]
        if len(self._served) >= self._most and strangers:
            strangers[0].cancel()
            del self._served[strangers[0]]


def _this_task() -> asyncio.Task[None]:
    task = asyncio.current_task()
    assert task is not None
    return task

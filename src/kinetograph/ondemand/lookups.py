"""Addresses of hosts, by threads that nobody waits for: a name that is not answered may take minutes."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress

__all__ = ["Lookups"]

_MOST_AT_ONCE = 1000


class Lookups:
    """asyncio's own threads would be waited for at the end, each of them."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(_MOST_AT_ONCE)

    async def addresses(self, name: str, port: int) -> list[str]:
        """Each once, in the order in which they are to be tried. Raises OSError."""
        async with self._places:
            loop = asyncio.get_running_loop()
            answer: asyncio.Future[list[str]] = loop.create_future()
            thread = threading.Thread(target=_look_up, args=(name, port, loop, answer), daemon=True)
            thread.start()
            return await answer


def _look_up(
    name: str, port: int, loop: asyncio.AbstractEventLoop, answer: asyncio.Future[list[str]]
) -> None:
    found: list[str] | OSError
    try:
        told = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
        found = list(dict.fromkeys(_spelled(address) for *_, address in told))
    except OSError as error:
        found = error
    except UnicodeError as error:  # a name that no host can have
        found = OSError(str(error))
    with suppress(RuntimeError):  # the loop has ended meanwhile
        loop.call_soon_threadsafe(_give, answer, found)


def _spelled(address: tuple[object, ...]) -> str:
    """One of IPv6 may belong to an interface, which is then the last of its four."""
    scope = address[3] if len(address) == 4 else 0
    text = str(address[0])
    return f"{text}%{scope}" if scope and "%" not in text else text


def _give(answer: asyncio.Future[list[str]], found: list[str] | OSError) -> None:
    if answer.done():  # nobody waits for it any more
        return
    if isinstance(found, OSError):
        answer.set_exception(found)
    else:
        answer.set_result(found)

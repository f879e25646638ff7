"""Which user is at the other end of a connection within this host, as the kernel lists it."""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress

__all__ = ["is_loopback", "user_of_connection"]


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def user_of_connection(peer: tuple[str, int], own: tuple[str, int]) -> int | None:
    """Of the connection from `peer` to `own`; None where there is none in this host."""
    wanted = (_spelled(*peer), _spelled(*own))
    table = "/proc/net/tcp6" if ":" in peer[0] else "/proc/net/tcp"
    return next((user for local, remote, user in _connections(table) if (local, remote) == wanted), None)


def _spelled(address: str, port: int) -> str:
    """As the kernel prints it: words of the machine's own order, in hexadecimal."""
    packed = socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    spelled = "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
    return f"{spelled}:{port:04X}"


def _connections(table: str) -> Iterator[tuple[str, str, int]]:
    """Of sockets that somebody has open. One that was closed stays for a while as root's, with no inode."""
    with suppress(OSError), open(table) as file:
        next(file)
        for line in file:
            columns = line.split()
            if columns[9] != "0":
                yield columns[1], columns[2], int(columns[7])

"""Kineto's datagrams: what PyTorch's processes send to a daemon, and what they are answered."""

from __future__ import annotations

import struct
from typing import NamedTuple

from kinetograph.errors import KinetographError

__all__ = ["MOST_DATAGRAM_BYTES", "Poll", "Registration", "parsed", "registration_reply", "poll_reply"]

# A size and a type, then so many bytes; numbers are the machine's own.
_HEADER = struct.Struct("=Q32s")
_REGISTRATION = struct.Struct("=iiq")
_POLL = struct.Struct("=iiq")
# A process and ten ancestors, in what PyTorch sends.
_MOST_PIDS = 64
MOST_DATAGRAM_BYTES = _HEADER.size + _POLL.size + 4 * _MOST_PIDS

_REGISTERS, _POLLS = b"ctxt", b"req"
# A bit of the mask; another is for events, which nobody asks for.
_ACTIVITIES = 2


class Registration(NamedTuple):
    """Of a process, for a GPU; PyTorch itself sends none."""

    gpu: int
    pid: int
    job: int


class Poll(NamedTuple):
    """ "Is there a request for me?" The pids are those of the process and its ancestors, as it knows them."""

    mask: int
    job: int
    pids: tuple[int, ...]

    @property
    def is_idle(self) -> bool:
        """While it records, a process asks for no activities, so that a request waits until it is done."""
        return bool(self.mask & _ACTIVITIES)

    def idle(self) -> Poll:
        return self._replace(mask=self.mask | _ACTIVITIES)


def parsed(datagram: bytes) -> Registration | Poll:
    """Raises KinetographError, and nothing else, for whatever bytes."""
    if len(datagram) < _HEADER.size:
        raise KinetographError(f"a datagram of {len(datagram)} bytes has no room for a header")
    size, padded = _HEADER.unpack_from(datagram)
    payload = datagram[_HEADER.size :]
    if size != len(payload):
        raise KinetographError(f"a datagram says {size} bytes, and brings {len(payload)}")
    kind = padded.partition(b"\0")[0]
    if kind == _REGISTERS and size == _REGISTRATION.size:
        return Registration(*_REGISTRATION.unpack(payload))
    if kind == _POLLS and size >= _POLL.size:
        return _poll(payload)
    raise KinetographError(f"a datagram of type {kind[:32]!r} and {size} bytes is none of Kineto's")


def _poll(payload: bytes) -> Poll:
    mask, count, job = _POLL.unpack_from(payload)
    if not 0 < count <= _MOST_PIDS or len(payload) != _POLL.size + 4 * count:
        raise KinetographError(f"a poll of {len(payload)} bytes cannot have {count} pids")
    return Poll(mask, job, struct.unpack_from(f"={count}i", payload, _POLL.size))


def registration_reply(registered: int) -> bytes:
    return _spelled(_REGISTERS, struct.pack("=i", registered))


def poll_reply(config: str) -> bytes:
    """Nothing to do is an empty text."""
    return _spelled(_POLLS, config.encode())


def _spelled(kind: bytes, payload: bytes) -> bytes:
    return _HEADER.pack(len(payload), kind) + payload

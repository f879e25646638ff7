"""Kineto's datagrams, as PyTorch's processes send them, and as anybody could."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetograph.errors import KinetographError
from kinetograph.ondemand.daemon.kineto_wire import (
    MOST_DATAGRAM_BYTES,
    Poll,
    Registration,
    parsed,
    poll_reply,
    registration_reply,
)


def datagram(kind: bytes, payload: bytes, size: int | None = None) -> bytes:
    return struct.pack("=Q32s", len(payload) if size is None else size, kind) + payload


def poll(mask: int = 3, job: int = 7, pids: tuple[int, ...] = (40, 30), count: int | None = None) -> bytes:
    numbers = struct.pack(f"={len(pids)}i", *pids)
    return datagram(b"req", struct.pack("=iiq", mask, len(pids) if count is None else count, job) + numbers)


def test_a_poll_has_a_job_and_the_pids_of_the_process_and_its_ancestors() -> None:
    assert parsed(poll()) == Poll(3, 7, (40, 30))


@pytest.mark.parametrize(("mask", "is_idle"), [(3, True), (2, True), (1, False), (0, False)])
def test_who_records_asks_for_no_activities(mask: int, is_idle: bool) -> None:
    message = parsed(poll(mask))
    assert isinstance(message, Poll)
    assert message.is_idle is is_idle
    assert message.idle().is_idle


def test_a_registration_names_gpu_pid_and_job() -> None:
    assert parsed(datagram(b"ctxt", struct.pack("=iiq", 1, 40, 7))) == Registration(1, 40, 7)


def test_answers_are_spelled_as_kineto_reads_them() -> None:
    assert poll_reply("") == datagram(b"req", b"")
    assert poll_reply("A=1\n") == datagram(b"req", b"A=1\n")
    assert registration_reply(2) == datagram(b"ctxt", struct.pack("=i", 2))


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"x" * 39,
        datagram(b"req", b"", size=10 * 2**30),
        datagram(b"req", b""),
        datagram(b"other", b"0123456789abcdef"),
        datagram(b"ctxt", b"short"),
        poll(pids=()),
        poll(count=-1),
        poll(count=2**30),
        poll(count=1),
        poll(pids=tuple(range(65))),
    ],
)
def test_what_is_none_of_kinetos_is_an_error(sent: bytes) -> None:
    with pytest.raises(KinetographError):
        parsed(sent)


@given(st.binary(max_size=MOST_DATAGRAM_BYTES))
def test_whatever_the_bytes_a_message_comes_out_or_an_error(sent: bytes) -> None:
    with suppress(KinetographError):
        assert isinstance(parsed(sent), Poll | Registration)


@given(st.integers(0, 2**64 - 1), st.sampled_from([b"req", b"ctxt"]), st.binary(max_size=80))
def test_whatever_the_payload_a_message_comes_out_or_an_error(size: int, kind: bytes, payload: bytes) -> None:
    for sent in (datagram(kind, payload), datagram(kind, payload, size)):
        try:
            message = parsed(sent)
        except KinetographError:
            continue
        assert not isinstance(message, Poll) or len(message.pids) <= 64

"""What a command hears of an agent."""

from __future__ import annotations

import random
import struct

import pytest

from kinetograph.errors import KinetographError
from kinetograph.ondemand.wire import STATUS, AnswerReader, framed

ANSWER = b'{"answer":"status","pid":1}'
FRAME = b"KG\x01A" + struct.pack(">I", len(ANSWER)) + ANSWER


def test_a_request_is_spelled_as_the_documentation_has_it() -> None:
    assert framed(STATUS) == b"KG\x01S\x00\x00\x00\x00"
    assert framed(b"C", "{}") == b"KG\x01C\x00\x00\x00\x02{}"


def test_answers_come_out_however_they_were_cut() -> None:
    reader = AnswerReader()
    heard = [answer for byte in FRAME * 2 for answer in reader.answers(bytes([byte]))]
    assert heard == [{"answer": "status", "pid": 1}] * 2


@pytest.mark.parametrize(
    "received",
    [b"HTTP/1.1 200", b"KG\x02A\x00\x00\x00\x00", b"KG\x01A\xff\xff\xff\xff", b"KG\x01A\x00\x00\x00\x02[]"],
)
def test_what_no_agent_sends_is_an_error(received: bytes) -> None:
    with pytest.raises(KinetographError, match="expected an answer"):
        list(AnswerReader().answers(received))


def test_whatever_the_bytes_answers_come_out_or_an_error() -> None:
    chance = random.Random(7)
    for _ in range(2000):
        mutated = bytearray(FRAME * 2)
        for _ in range(chance.randint(1, 4)):
            mutated[chance.randrange(len(mutated))] = chance.randrange(256)
        try:
            for answer in AnswerReader().answers(bytes(mutated)):
                assert isinstance(answer["answer"], str)
        except KinetographError:
            pass

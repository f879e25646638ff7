"""Requests as they come from a peer: checked, or refused with a reason, whatever the bytes."""

from __future__ import annotations

import random

import pytest

from kinetograph.errors import KinetographError, UsageError
from kinetograph.ondemand.request import CaptureRequest


def test_a_request_survives_the_way_there() -> None:
    request = CaptureRequest(activities=("CPU", "CUDA"), with_stack=True, steps=3, output="a.json")
    assert CaptureRequest.from_json(request.to_json().encode()) == request


def test_an_empty_payload_asks_for_the_defaults() -> None:
    assert CaptureRequest.from_json(b"") == CaptureRequest.from_json(b"{}") == CaptureRequest()


@pytest.mark.parametrize(
    ("payload", "complaint"),
    [
        (b"[]", "expected a JSON object, got list"),
        (b"\xff", "expected a JSON object"),
        (b'{"steps": 0}', "steps: expected at least 1,"),
        (b'{"steps": true}', "steps: expected a whole number"),
        (b'{"steps": 1e3}', "steps: expected a whole number"),
        (b'{"duration_ns": -1}', "duration_ns: expected at least 1,"),
        (b'{"duration_ns": 1, "steps": 1}', "exclude each other"),
        (b'{"with_stack": 1}', "with_stack: expected True or False"),
        (b'{"activities": "CPU"}', "activities: expected a list"),
        (b'{"output": 3}', "output: expected a string"),
        (b'{"run": "rm -rf"}', "this version knows no 'run'"),
        (b'{"steps": NaN}', "expected a JSON object"),
        (b"[" * 5000, "expected a JSON object"),
        (b'{"trace_id": "' + b"x" * 5000 + b'"}', "trace_id is longer"),
    ],
)
def test_a_wrong_request_says_what_is_wrong(payload: bytes, complaint: str) -> None:
    with pytest.raises(KinetographError, match=complaint):
        CaptureRequest.from_json(payload)


def test_whatever_the_bytes_a_request_is_made_or_refused() -> None:
    """A small fuzzer: the JSON is Python's to parse, what it means is ours."""
    chance = random.Random(7)
    seeds = [
        CaptureRequest(steps=3, start_step=7, trace_id="x", output="a.json").to_json().encode(),
        CaptureRequest(activities=("CPU",), duration_ns=5, with_flops=True).to_json().encode(),
    ]
    pieces = [b"null", b"1e999", b"-0", b'"\\ud800"', b"{}", b"[[]]", b"\x00", b"99999999999999999999"]
    for _ in range(3000):
        mutated = bytearray(chance.choice(seeds))
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(mutated) + 1)
            mutated[at : at + chance.randint(0, 6)] = chance.choice([*pieces, bytes([chance.randrange(256)])])
        try:
            request = CaptureRequest.from_json(bytes(mutated))
        except KinetographError:
            continue
        assert CaptureRequest.from_json(request.to_json().encode()) == request


def test_the_default_window_is_that_of_kineto() -> None:
    assert CaptureRequest().window_ns == 500_000_000
    assert CaptureRequest(duration_ns=3).window_ns == 3


def test_a_wall_time_and_steps_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="start_time_ns and steps"):
        CaptureRequest(start_time_ns=1, steps=1)


@pytest.mark.parametrize(
    "members",
    [{"steps": 3}, {"duration_ns": 5}, {"start_step": 1}, {"with_stack": True}, {"activities": ["CUDA"]}],
)
def test_a_ring_was_recorded_before_and_is_told_nothing_more(members: dict[str, object]) -> None:
    (name,) = members
    with pytest.raises(UsageError, match=f"ring_dump and {name} exclude each other"):
        CaptureRequest(ring_dump=True, **members)
    assert CaptureRequest(ring_dump=True, trace_id="x", output="a.json").ring_dump

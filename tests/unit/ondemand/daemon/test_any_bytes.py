"""Whatever bytes a visitor sends, the daemon answers, or lets it go: no other error, no file, no memory."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kinetograph.errors import KinetographError
from kinetograph.ondemand.daemon import visit
from kinetograph.ondemand.daemon.agent_captures import AgentCaptures
from kinetograph.ondemand.daemon.dynolog import LENGTH_BYTES, Dynolog
from kinetograph.ondemand.daemon.kineto_processes import KinetoProcesses
from kinetograph.ondemand.daemon.visit import Visit
from kinetograph.ondemand.frames import read_frame
from kinetograph.ondemand.request import CaptureRequest
from kinetograph.ondemand.wire import MOST_PAYLOAD_BYTES, answer_in, framed, kind_and_length

LET_GO = (KinetographError, asyncio.IncompleteReadError, TimeoutError)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["fn", "config", "pids", "job_id", "process_limit", "proof", "file", "request"])
OBJECTS = st.dictionaries(NAMES | st.text(max_size=4), VALUES, max_size=4)


class Hearer:
    """What a `StreamWriter` is to those who write."""

    def __init__(self) -> None:
        self.heard = b""

    def write(self, data: bytes) -> None:
        self.heard += data

    async def drain(self) -> None:
        pass


def json_of(value: object) -> bytes:
    return json.dumps(value).encode()


async def stream(data: bytes) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    return reader


def run(work: Coroutine[Any, Any, None]) -> None:
    """What lets a visitor go is all that may be raised."""
    with suppress(*LET_GO):
        asyncio.run(work)


def served_by_dynolog(sent: bytes, hearer: Hearer) -> None:
    async def serve() -> None:
        nobody = KinetoProcesses(lambda _process: None, lambda _process: None)
        reader = await stream(sent)
        first = await reader.readexactly(LENGTH_BYTES)
        dynolog = Dynolog(nobody, AgentCaptures(_ignore), ("/nonexistent",))
        await dynolog.serve(first, reader, hearer, None)  # type: ignore[arg-type]

    run(serve())


def _ignore(_text: str) -> None:
    pass


@given(st.binary(max_size=64))
def test_any_bytes_as_a_call_of_dynolog(sent: bytes) -> None:
    served_by_dynolog(sent, Hearer())


@given(OBJECTS, st.sampled_from(["getStatus", "getVersion", "setKinetOnDemandRequest", "other"]))
def test_any_object_as_a_call_of_dynolog_is_answered_or_let_go(members: dict[str, Any], fn: str) -> None:
    text = json_of({**members, "fn": fn})
    hearer = Hearer()
    served_by_dynolog(struct.pack("=i", len(text)) + text, hearer)
    if hearer.heard:
        assert struct.unpack_from("=i", hearer.heard)[0] == len(hearer.heard) - LENGTH_BYTES


@pytest.fixture
def _nobody_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visit, "processes", lambda _tell: [])


def served_by_visit(sent: bytes) -> bytes:
    hearer = Hearer()

    async def serve() -> None:
        visitor: Any = hearer
        await Visit(await stream(sent), visitor, None, lambda: None).serve(b"")

    run(serve())
    return hearer.heard


@pytest.mark.usefixtures("_nobody_runs")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.binary(max_size=64))
def test_any_bytes_behind_a_hello(sent: bytes) -> None:
    assert served_by_visit(framed(b"H", "{}") + sent).startswith(b"KG\x01A")


@pytest.mark.usefixtures("_nobody_runs")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(
    st.lists(st.tuples(st.sampled_from([b"L", b"F", b"X", b"H", b"A", b"D"]), OBJECTS | VALUES), max_size=4)
)
def test_any_requests_behind_a_hello(requests: list[tuple[bytes, Any]]) -> None:
    frames = b"".join(framed(kind, json_of(members)) for kind, members in requests)
    assert served_by_visit(framed(b"H", "{}") + frames).startswith(b"KG\x01A")


@given(st.binary(max_size=200))
def test_any_bytes_as_a_request_of_a_capture(payload: bytes) -> None:
    for parse in (visit._asked_for, CaptureRequest.from_json, answer_in):
        with suppress(KinetographError):
            parse(payload)


@given(OBJECTS)
def test_any_object_as_a_request_of_a_capture(members: dict[str, Any]) -> None:
    with suppress(KinetographError):
        CaptureRequest.from_json(json_of(members))


@given(st.binary(min_size=8, max_size=40))
def test_any_bytes_as_a_frame(sent: bytes) -> None:
    async def read() -> None:
        frame = await read_frame(await stream(sent), 1)
        assert frame is None or len(frame.payload) <= MOST_PAYLOAD_BYTES

    run(read())
    try:
        _kind, length = kind_and_length(sent)
        assert length <= MOST_PAYLOAD_BYTES
    except KinetographError:
        pass

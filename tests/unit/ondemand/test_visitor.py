"""What a daemon of another host answers is believed as far as it goes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kinetograph.errors import KinetographError
from kinetograph.ondemand.hosts import Host
from kinetograph.ondemand.processes import AgentProcess
from kinetograph.ondemand.request import CaptureRequest
from kinetograph.ondemand.told import told_suffix
from kinetograph.ondemand.visitor import Visitor
from kinetograph.ondemand.wire import framed


class Deaf:
    """What a `StreamWriter` is to those who write."""

    def write(self, data: bytes) -> None:
        pass

    async def drain(self) -> None:
        pass


def answered(sent: bytes, ask: Callable[[Visitor], Awaitable[Any]]) -> Any:
    """What comes of asking a daemon that sends these bytes, whatever it is asked."""

    async def visit() -> Any:
        reader = asyncio.StreamReader()
        reader.feed_data(sent)
        reader.feed_eof()
        return await ask(Visitor(Host("there"), reader, Deaf()))  # type: ignore[arg-type]

    return asyncio.run(visit())


def answer(kind: str, **members: object) -> bytes:
    return framed(b"A", json.dumps({"answer": kind, **members}))


async def captured(visitor: Visitor) -> list[dict[str, Any]]:
    return [each async for each in visitor.capture(CaptureRequest(), [1], lambda _text: None)]


def test_processes_are_called_by_the_host_that_was_asked() -> None:
    sent = answer("process", pid=7, host="elsewhere", rank=3, job=9, user=None) + answer("listed")
    assert answered(sent, Visitor.processes) == [
        AgentProcess("", 7, "there", job="9", rank=3, state="", recorder="")
    ]


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (b"", "has hung up"),
        (b"HTTP/1.1", "expected a frame"),
        (answer("welcome"), "expected process or listed, got 'welcome'"),
        (framed(b"D", "x"), "expected an answer"),
        (answer("refused", reason="not you", hint="go"), "not you\nhint: go"),
    ],
)
def test_what_no_daemon_answers_is_an_error(sent: bytes, message: str) -> None:
    with pytest.raises(KinetographError, match=message):
        answered(sent, Visitor.processes)


def test_a_file_that_comes_whole_gets_its_name(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    answered(framed(b"D", "ab") + framed(b"D", "c") + answer("fetched"), lambda v: v.fetch(1, 3, str(path)))
    assert path.read_text() == "abc"


@pytest.mark.parametrize("pieces", [["ab"], ["abcd"], ["abcd"] * 1000, [], ["ab", "", "c"]])
def test_a_file_that_is_not_what_was_announced_leaves_nothing(tmp_path: Path, pieces: list[str]) -> None:
    sent = b"".join(framed(b"D", piece) for piece in pieces) + answer("fetched")
    with pytest.raises(KinetographError, match="bytes came of a file of 3"):
        answered(sent, lambda visitor: visitor.fetch(1, 3, str(tmp_path / "trace.json")))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "told", ["/../../x.json", "sh", None, "\0.json", "x" * 40 + ".json", "a\nb.json", "\x1b]0;x\x07.json"]
)
def test_a_suffix_is_that_of_a_trace(told: object) -> None:
    with pytest.raises(KinetographError):
        told_suffix(told)


def test_who_lists_processes_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinetograph.ondemand.visitor._MOST_PROCESSES", 10)
    with pytest.raises(KinetographError, match="more than 10 processes"):
        answered(answer("process", pid=1) * 20 + answer("listed"), Visitor.processes)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(
    st.binary(max_size=100) | st.builds(framed, st.sampled_from([b"A", b"D", b"C"]), st.binary(max_size=50))
)
def test_whatever_a_daemon_sends_an_answer_comes_out_or_an_error(tmp_path: Path, sent: bytes) -> None:
    for ask in (Visitor.processes, captured, lambda visitor: visitor.fetch(1, 3, str(tmp_path / "x"))):
        with suppress(KinetographError):
            answered(sent, ask)

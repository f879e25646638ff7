"""Values of any type that a program gives to its scopes, as they stand in a trace."""

from __future__ import annotations

import datetime
import enum
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kinetograph as kg
from kinetograph.errors import KinetographError
from recorded import recording


class Colour(enum.Enum):
    RED = object()


class OnGpu:
    """A tensor that would make the program wait if it were read."""

    shape = (2, 3)
    dtype = "float16"
    device = "cuda:0"

    def tolist(self) -> list[float]:
        raise AssertionError("read from the device")

    __repr__ = tolist  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("value", "recorded"),
    [
        (np.int64(3), 3),
        (np.float32(1.5), 1.5),
        (np.bool_(True), True),
        (np.arange(3), [0, 1, 2]),
        ({"deep": [np.int8(1)]}, {"deep": [1]}),
        (np.zeros((100, 2), dtype="int8"), "<ndarray (100, 2) of int8>"),
        (OnGpu(), "<OnGpu (2, 3) of float16 on cuda:0>"),
        (Colour.RED, "RED"),
        (Path("a/b"), "a/b"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (datetime.datetime(2026, 1, 2, 3, 4), "2026-01-02T03:04:00"),
        (b"x", "b'x'"),
        (float("nan"), "nan"),
        (datetime.date, "<class 'datetime.date'>"),
    ],
)
def test_a_value_is_recorded_as_what_json_has_for_it(value: object, recorded: Any) -> None:
    with recording() as window, kg.scope("a", x=value):
        pass
    assert window.trace.events[0].args == {"x": recorded}


def nested(levels: int) -> Any:
    value: Any = "inside"
    for level in range(levels):
        value = [value] if level % 2 else {"in": value}
    return value


def levels_of(value: Any) -> int:
    levels = 0
    while isinstance(value, (dict, list)):
        value, levels = (value["in"] if isinstance(value, dict) else value[0]), levels + 1
    return levels


def test_a_value_that_is_nested_too_deeply_loses_only_what_is_deeper() -> None:
    with recording() as window, kg.scope("a", fits=nested(128), deep=nested(129), deeper=nested(300), x=1):
        pass
    args = window.trace.events[0].args
    assert args["fits"] == nested(128)
    assert args["x"] == 1
    assert levels_of(args["deep"]) == levels_of(args["deeper"]) == 128
    assert not [note for note in window.trace.notes if note.kind == "damaged"]


def test_more_than_a_name_and_a_text_is_refused() -> None:
    with pytest.raises(KinetographError, match="takes a name and one text, got 1 more: 'c'") as caught:
        kg.scope("a", "b", "c")  # type: ignore[call-arg]
    assert caught.value.hint == "pass values as name=value instead"


def test_what_a_signal_handler_raises_reaches_the_program() -> None:
    def at_alarm(signum: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, at_alarm)
    kg.enable_profiler()
    try:
        for _ in range(20):
            with pytest.raises(TimeoutError):  # noqa: PT012
                signal.setitimer(signal.ITIMER_REAL, 0.0005)
                while True:
                    with kg.scope("i", x=1):
                        pass
    finally:
        signal.signal(signal.SIGALRM, before)
        kg.disable_profiler()

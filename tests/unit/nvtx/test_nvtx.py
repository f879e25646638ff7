"""Without a tool every call is a no-op; what cannot be meant is an error that says so, tool or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import kinetograph as kg
from kinetograph.errors import ArgumentError, KinetographError, UsageError
from kinetograph.nvtx.colors import argb

nvtx = kg.nvtx


def test_without_a_tool_every_call_is_a_no_op() -> None:
    assert nvtx.is_available()
    assert not nvtx.is_listening()
    assert nvtx.range_push("a", "red", "data", "kind", 1) < 0
    assert nvtx.range_pop("data") < 0
    assert nvtx.range_start("b") == 0
    nvtx.range_end(0)
    nvtx.mark("c", payload=1.5)
    with nvtx.domain("data").range("d"), nvtx.range(nvtx.string_handle("e")):
        pass


def test_a_domain_is_one_object_for_its_name() -> None:
    assert nvtx.domain("data") is nvtx.domain("data")
    assert nvtx.domain("data") is not nvtx.domain("other")
    assert repr(nvtx.domain("data")) == "<NVTX domain 'data'>"


def test_a_category_has_one_number_in_a_domain() -> None:
    domain = nvtx.domain("with categories")
    assert [domain.category(name) for name in ("a", "b", "a")] == [0x4B470020, 0x4B470021, 0x4B470020]


@pytest.mark.parametrize(
    ("color", "number"),
    [
        ("red", 0xFFFF0000),
        ("Red ", 0xFFFF0000),
        ("#102030", 0xFF102030),
        ("#80102030", 0x80102030),
        (0x102030, 0xFF102030),
        (0x80102030, 0x80102030),
        (numpy.uint32(0x102030), 0xFF102030),
    ],
)
def test_colors_have_names_and_numbers(color: Any, number: int) -> None:
    assert argb(color) == number


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"color": "no such"}, UsageError, "color: expected the name of a color, got 'no such'"),
        ({"color": "#12"}, UsageError, "color: expected the name of a color"),
        ({"color": 1 << 32}, UsageError, "color: expected at most 4294967295"),
        ({"color": 1.5}, ArgumentError, "color: expected a whole number, got 1.5"),
        ({"domain": 3}, ArgumentError, "domain: expected a string, got 3"),
        ({"category": -1}, UsageError, "category: expected at least 0"),
        ({"category": 1.5}, ArgumentError, "category: expected a whole number"),
        ({"payload": "7"}, ArgumentError, r"payload: expected an int .* got '7' \(str\)\nhint: texts"),
        (
            {"payload": numpy.arange(3)},
            ArgumentError,
            r"payload: expected an int .*array[^\n]*\nhint: a payload is one",
        ),
        ({"payload": 1 << 64}, UsageError, "payload: expected a number of 64 bits"),
    ],
)
def test_what_cannot_be_meant_is_an_error(
    options: dict[str, Any], error: type[KinetographError], message: str
) -> None:
    for call in (nvtx.range_push, nvtx.range_start, nvtx.mark, nvtx.range):
        with pytest.raises(error, match=message) as caught:
            call("name", **options)
        assert caught.value.hint


@pytest.mark.parametrize("message", [None, 3, b"bytes"])
def test_a_message_is_a_string(message: Any) -> None:
    for call in (nvtx.range_push, nvtx.range_start, nvtx.mark, nvtx.range):
        with pytest.raises(ArgumentError, match="message: expected a string or a string handle"):
            call(message)


def test_a_range_ends_by_the_number_that_its_start_gave() -> None:
    with pytest.raises(ArgumentError, match="range_id: expected a whole number, got 'step'") as caught:
        nvtx.range_end("step")  # type: ignore[arg-type]
    assert caught.value.hint == "pass what range_start() gave"


def test_a_string_handle_stays_in_its_domain() -> None:
    handle = nvtx.domain("data").string_handle("kept")
    with pytest.raises(UsageError, match="belongs to <NVTX domain 'data'>, not to <the default domain"):
        nvtx.range_push(handle)
    with pytest.raises(ArgumentError, match="text: expected a string, got 3"):
        nvtx.string_handle(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("module", [kg.nvtx, kg.itt])
def test_a_range_decorates_functions_that_do_not_give_way(module: Any) -> None:
    @module.range("function")
    def function(value: int) -> int:
        """What it does."""
        return value + 1

    assert function(1) == 2
    assert function.__doc__ == "What it does."

    def generator() -> Iterator[int]:
        yield 1

    async def coroutine() -> None: ...

    for each in (generator, coroutine):
        with pytest.raises(ArgumentError, match="gives way to others") as caught:
            module.range("wrong")(each)
        assert caught.value.hint is not None
        assert "kg.scope" in caught.value.hint
    with pytest.raises(ArgumentError, match="function: expected a function"):
        module.range("wrong")(3)

"""Without a tool every call is a no-op; what cannot be meant is an error that says so, tool or not."""

from __future__ import annotations

from typing import Any

import pytest

import kinetograph as kg
from kinetograph.errors import ArgumentError, KinetographError, UsageError

itt = kg.itt


def test_without_a_tool_every_call_is_a_no_op() -> None:
    assert itt.is_available()
    assert not itt.is_listening()
    itt.range_push("a", "data", 1)
    itt.range_pop("data")
    assert itt.range_start("b") == 0
    itt.range_end(0)
    itt.mark("c")
    itt.pause()
    itt.resume()
    itt.name_thread("worker")
    with itt.domain("data").range("d"), itt.range(itt.string_handle("e")):
        pass


def test_a_domain_is_one_object_for_its_name() -> None:
    assert itt.domain("data") is itt.domain("data")
    assert repr(itt.domain("data")) == "<ITT domain 'data'>"
    assert repr(itt.string_handle("kept")) == "<ITT string 'kept'>"


@pytest.mark.parametrize(
    ("call", "arguments", "error", "message"),
    [
        (itt.range_push, (3,), ArgumentError, "message: expected a string or a string handle, got 3"),
        (itt.range_push, ("a", 3), ArgumentError, "domain: expected a string, got 3"),
        (itt.range_push, ("a", None, "7"), ArgumentError, "payload: expected an int or a float"),
        (itt.range_start, (None,), ArgumentError, "message: expected a string"),
        (itt.range_end, ("a",), ArgumentError, "range_id: expected a whole number"),
        (itt.mark, (b"bytes",), ArgumentError, "message: expected a string"),
        (itt.string_handle, (3,), ArgumentError, "text: expected a string"),
        (itt.name_thread, (3,), ArgumentError, "name: expected a string"),
        (itt.jit_method_loaded, (3, 1, 1), ArgumentError, "name: expected a string"),
        (itt.jit_method_loaded, ("f", 0, 1), UsageError, "address: expected at least 1, got 0"),
        (itt.jit_method_loaded, ("f", 1, 0), UsageError, "size: expected at least 1, got 0"),
        (itt.jit_method_loaded, ("f", 1, 1, 3), ArgumentError, "file: expected a string"),
        (itt.jit_method_loaded, ("f", 1, 1, None, 5), ArgumentError, "lines: expected a set or list of pair"),
        (itt.jit_method_loaded, ("f", 1, 1, None, "ab"), ArgumentError, "lines: expected .*, got 'ab'"),
        (itt.jit_method_loaded, ("f", 1, 1, None, ["ab"]), ArgumentError, r"lines\[...\]: expected a pair"),
        (itt.jit_method_loaded, ("f", 1, 1, None, [5]), ArgumentError, r"lines.*: expected a pair, got 5"),
        (itt.jit_method_loaded, ("f", 1, 1, None, [(1,)]), UsageError, r"expected a pair, got \(1,\)"),
        (itt.jit_method_loaded, ("f", 1, 1, None, [(1, "2")]), ArgumentError, "expected a whole number"),
        (
            itt.jit_method_loaded,
            ("f", 1, 1, None, [(1, -2)]),
            UsageError,
            r"lines\[...\]: expected at least 0",
        ),
        (itt.jit_method_unloaded, ("f",), ArgumentError, "method: expected a whole number"),
    ],
)
def test_what_cannot_be_meant_is_an_error(
    call: Any, arguments: tuple[Any, ...], error: type[KinetographError], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        call(*arguments)
    assert caught.value.hint


def test_code_that_nobody_asks_for_has_no_number() -> None:
    assert not itt.jit_is_active()
    assert itt.jit_method_loaded("f", 0x1000, 16) == 0
    assert not itt.jit_method_unloaded(0)

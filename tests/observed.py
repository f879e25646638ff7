"""Callbacks around scopes that tests can look into."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import kinetograph as kg

Add = Callable[..., int]


@contextmanager
def observing(*args: Any, add: Add = kg.add_global_callback, **options: Any) -> Iterator[int]:
    handle = add(*args, **options)
    try:
        yield handle
    finally:
        kg.remove_callback(handle)


class Log:
    """Callbacks that write down what they are told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def enter(self, function: kg.RecordFunction) -> str:
        self.lines.append(f"> {function.name}")
        return f"value of {function.name}"

    def leave(self, function: kg.RecordFunction, value: Any) -> None:
        self.lines.append(f"< {function.name}: {value}")

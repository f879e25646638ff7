"""Amounts as people write them on a command line: `512M`, `2G`; `10us`, `1.5ms`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import click

__all__ = ["BYTES", "DURATION_NS"]


class _Amount(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2
    def __init__(self, name: str, units: Mapping[str, int], example: str) -> None:
        self.name = name
        self._units = units
        self._example = example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", value.strip())
        unit = self._units.get(found[2].lower()) if found else None
        if found is None or unit is None or float(found[1]) <= 0:
            self.fail(f"expected an amount such as {self._example}, got {value!r}", param, ctx)
        return round(float(found[1]) * unit)


_KIB = 1 << 10
BYTES = _Amount(
    "size",
    {
        unit + tail: _KIB**power
        for power, unit in enumerate(("", "k", "m", "g", "t"))
        for tail in ("", "b", "ib")
    },
    "512M",
)
DURATION_NS = _Amount("time", {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}, "10us")

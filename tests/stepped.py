"""Profiles that make steps, and what their handlers saw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import kinetograph as kg
from recorded import names

EVERY_STEP = {"wait": 0, "warmup": 1, "active": 1}


def stepped(steps: int, on_trace_ready: Callable[..., Any] | None = None, **options: Any) -> kg.profile:
    """A profile that made so many steps, with a scope in each."""
    with kg.profile(on_trace_ready=on_trace_ready, **options) as prof:
        for step in range(steps):
            with kg.scope(f"work {step}"):
                pass
            prof.step()
    return prof


class Traces:
    """An `on_trace_ready` that keeps what it was called with."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.names: list[list[str]] = []

    def __call__(self, prof: kg.profile) -> None:
        self.steps.append(prof.step_num)
        self.names.append(names(prof.trace))

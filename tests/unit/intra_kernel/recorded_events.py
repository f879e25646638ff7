"""What the kernel `steps` records, whoever compiled it and wherever it ran."""

from __future__ import annotations

from typing import Any

import kinetograph as kg

NAMES = ["whole", "step", "arrived", "block"]


def told(trace: kg.Trace) -> list[tuple[Any, ...]]:
    """All of the events but when they were, and on which SM: by block, group and launch, as they began."""
    places: dict[tuple[Any, ...], list[kg.Event]] = {}
    for event in trace.events:
        places.setdefault(place(event), []).append(event)
    return [
        (*where, event.name, event.kind, payloads(event), around(event, places[where]))
        for where in sorted(places)
        for event in places[where]
    ]


def place(event: kg.Event) -> tuple[Any, ...]:
    return event.args["block"], event.track.name, event.args["launch"]


def payloads(event: kg.Event) -> tuple[Any, Any]:
    return event.args.get("payload"), event.args.get("end_payload")


def around(event: kg.Event, events: list[kg.Event]) -> list[str]:
    return [
        other.name
        for other in events
        if other is not event and other.kind == kg.EventKind.SPAN
        if other.start_ns <= event.start_ns and event.end_ns <= other.end_ns
    ]


def told_by_steps(blocks: int, threads: int, launches: int = 1) -> list[tuple[Any, ...]]:
    """`source` counts from zero; a block's first thread records."""
    span, instant = kg.EventKind.SPAN, kg.EventKind.INSTANT
    return [
        (block, f"block {block}", launch, *rest)
        for block in range(blocks)
        for launch in range(launches)
        for rest in [
            ("whole", span, (None, 0.5), []),
            ("arrived", instant, (block * threads, None), ["whole"]),
            *[("step", span, (step, None), ["whole"]) for step in range(3)],
            ("block", instant, (block, None), ["whole"]),
        ]
    ]

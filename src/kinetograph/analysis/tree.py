"""The nesting of events as objects, for those who walk it."""

from __future__ import annotations

from kinetograph.trace import Event, Trace

__all__ = ["EventNode", "event_tree"]


class EventNode:
    """An event between its parent and its children."""

    __slots__ = ("children", "event", "parent")

    def __init__(self, event: Event, parent: EventNode | None = None) -> None:
        self.event = event
        self.parent = parent
        self.children: list[EventNode] = []

    def __repr__(self) -> str:
        return f"<EventNode {self.event.name!r} with {len(self.children)} children>"


def event_tree(trace: Trace) -> list[EventNode]:
    """The roots, in the order of the trace.

    >>> [child.event.name for child in event_tree(trace)[0].children]
    ['load', 'compute']
    """
    nodes = [EventNode(event) for event in trace.events]
    roots = []
    for node, parent in zip(nodes, trace.columns["parent"].tolist(), strict=True):
        if parent < 0:
            roots.append(node)
            continue
        node.parent = nodes[parent]
        node.parent.children.append(node)
    return roots

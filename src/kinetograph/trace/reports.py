"""Which module answers which question about a trace. They stand above this one: named, not imported."""

from __future__ import annotations

from kinetograph.hints import Any

__all__ = ["report"]

_MODULES = {
    "key_averages": "kinetograph.analysis.averages",
    "single_events": "kinetograph.analysis.averages",
    "export_stacks": "kinetograph.export.stacks",
    "STACK_METRICS": "kinetograph.export.stacks",
}


def report(name: str) -> Any:
    """The function of that name."""
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)

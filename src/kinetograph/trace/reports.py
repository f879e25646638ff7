"""Which module answers which question about a trace. They stand above this one: named, not imported."""

from __future__ import annotations

from kinetograph.fork_locks import loading
from kinetograph.hints import Any

__all__ = ["report"]

# Behind the module, what it will load itself: all of it while forks wait.
_AVERAGES = ("kinetograph.analysis.averages", "kinetograph.analysis.torch_table", "numpy")
_STACKS = ("kinetograph.export.stacks",)
_MODULES = {
    "key_averages": _AVERAGES,
    "single_events": _AVERAGES,
    "export_stacks": _STACKS,
    "STACK_METRICS": _STACKS,
}


def report(name: str) -> Any:
    """The function of that name."""
    with loading:
        from importlib import import_module

        module, *_others = [import_module(each) for each in _MODULES[name]]
    return getattr(module, name)

"""Which module writes which suffix. Modules are named, not imported: they stand above this one."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

from kinetograph.checks import path_text
from kinetograph.errors import KinetographError, NotAvailable

__all__ = ["require_known_suffix", "saver_for", "saver_named"]

Saver = Callable[[Any, str | PathLike[str]], None]

_SAVERS = {
    ".json": "kinetograph.export.chrome",
    ".json.gz": "kinetograph.export.chrome",
    ".folded": "kinetograph.export.stacks",
}
_LATER = (".pftrace", ".perfetto-trace")


def saver_for(path: str | PathLike[str]) -> Saver:
    """The function `save(trace, path)` for the suffix of this path."""
    return _save_function(_module_for(path_text("path", path)))


def saver_named(suffix: str) -> Saver:
    """The function for this suffix, for files that may be called otherwise."""
    return _save_function(_SAVERS[suffix])


def require_known_suffix(path: str) -> None:
    """Raise what `saver_for` would, without importing anything."""
    _module_for(path)


def _module_for(name: str) -> str:
    for suffix, module in _SAVERS.items():
        if name.endswith(suffix):
            return module
    known = " or ".join(_SAVERS)
    if name.endswith(_LATER):
        raise NotAvailable(f"cannot write {name!r}: this format is not available yet", hint=f"write {known}")
    raise KinetographError(
        f"cannot write {name!r}: expected a path that ends in {known}", hint=f"name it {name + '.json'!r}"
    )


def _save_function(module: str) -> Saver:
    from importlib import import_module

    save: Saver = import_module(module).save
    return save

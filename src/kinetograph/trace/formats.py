"""Which module writes which suffix. Modules are named, not imported: they stand above this one."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fspath
from typing import Any

from kinetograph.errors import KinetographError, NotAvailable

__all__ = ["saver_for"]

Saver = Callable[[Any, str | PathLike[str]], None]

_SAVERS = {
    ".json": "kinetograph.export.chrome",
    ".json.gz": "kinetograph.export.chrome",
}
_LATER = (".pftrace", ".perfetto-trace", ".folded")


def saver_for(path: str | PathLike[str]) -> Saver:
    """The function `save(trace, path)` for the suffix of this path."""
    name = fspath(path)
    for suffix, module in _SAVERS.items():
        if name.endswith(suffix):
            return _save_function(module)
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

"""Packages whose names come with the first one that is asked for: few programs need them, all would pay."""

from __future__ import annotations

import sys
from collections.abc import Callable

from kinetograph.fork_locks import loading
from kinetograph.hints import Any

__all__ = ["late_names"]


def late_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names are those of its module `names`."""

    def load() -> dict[str, Any]:
        with loading:
            from importlib import import_module

            names = import_module(f"{package}.names")
        of_package = vars(sys.modules[package])
        of_package.update({known: getattr(names, known) for known in names.__all__}, __all__=names.__all__)
        return of_package

    def get(name: str) -> Any:
        if name.startswith("_") and name != "__all__":
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return load()[name]
        except KeyError:
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *get("__all__")})

    return get, list_names

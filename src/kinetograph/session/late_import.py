"""Be told when the program has imported a module, without importing it for the program."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kinetograph.session.handover import call_program

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

__all__ = ["AfterImport"]


class AfterImport:
    """A finder that finds nothing itself: what the others find is loaded, and then `then` is called with it.

    >>> AfterImport("torch", attach).install()

    Whatever goes wrong in `then` is not the program's.
    """

    def __init__(self, name: str, then: Callable[[ModuleType], object], purpose: str = "record") -> None:
        self.name = name
        self.purpose = purpose
        self._then = then
        # Other finders ask all the others, too: in this thread we are asking already.
        self._asking = threading.local()

    def install(self) -> None:
        """In place of one for the same, such as that of the parent in a forked child."""
        mine = (self.name, self.purpose)
        for finder in list(sys.meta_path):
            if isinstance(finder, AfterImport) and (finder.name, finder.purpose) == mine:
                finder.remove()
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        with suppress(ValueError):
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self.name or getattr(self._asking, "is_on", False):
            return None
        self._asking.is_on = True
        try:
            spec = self._found_by_others(path, target)
        finally:
            self._asking.is_on = False
        if spec is not None:
            self._watch(spec.loader)
        return spec

    def _found_by_others(self, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None
            if finder is not self and find is not None:
                spec = find(self.name, path, target)
            if spec is not None:
                return spec
        return None

    def _watch(self, loader: Any) -> None:
        """It forgets us before it runs anything of the program's. Other modules may be loaded by it, too."""
        load = getattr(loader, "exec_module", None)
        if load is None or not hasattr(loader, "__dict__"):
            return

        def exec_module(module: ModuleType) -> None:
            if module.__name__ != self.name:
                call_program(load, module)
                return
            loader.__dict__.pop("exec_module", None)
            call_program(load, module)
            self.remove()
            with suppress(Exception):
                self._then(module)

        loader.exec_module = exec_module

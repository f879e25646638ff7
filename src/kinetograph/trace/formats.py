"""Which module writes which suffix. Modules are named, not imported: they stand above this one."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike

from kinetograph.checks import path_text, require_folder
from kinetograph.errors import UsageError
from kinetograph.fork_locks import loading
from kinetograph.hints import Any

__all__ = ["known_suffix", "require_known_suffix", "saver_for", "saver_named", "usable_path"]

Saver = Callable[[Any, str | PathLike[str]], None]

_SAVERS = {
    ".json": "kinetograph.export.chrome",
    ".json.gz": "kinetograph.export.chrome",
    ".pftrace": "kinetograph.export.perfetto",
    ".pftrace.gz": "kinetograph.export.perfetto",
    ".perfetto-trace": "kinetograph.export.perfetto",
    ".perfetto-trace.gz": "kinetograph.export.perfetto",
    ".folded": "kinetograph.export.stacks",
}


def saver_for(path: str | PathLike[str]) -> Saver:
    """The function `save(trace, path)` for the suffix of this path."""
    return _save_function(_module_for(path_text("path", path)))


def saver_named(suffix: str) -> Saver:
    """The function for this suffix, for files that may be called otherwise."""
    return _save_function(_SAVERS[suffix])


def known_suffix(path: str) -> str:
    """The suffix that says how to write this path, or an empty string."""
    return max((suffix for suffix in _SAVERS if path.endswith(suffix)), key=len, default="")


def require_known_suffix(path: str) -> None:
    """Raise what `saver_for` would, without importing anything."""
    _module_for(path)


def usable_path(name: str, path: str | PathLike[str]) -> str:
    """The path from the root. Raises before there is a trace what `save` would raise with one."""
    import os

    usable = os.path.abspath(path_text(name, path))
    require_known_suffix(usable)
    require_folder(name, os.path.dirname(usable))
    if os.path.isdir(usable):
        raise UsageError(f"{name}: expected a file, and {usable!r} is a folder", hint="name a file in it")
    return usable


def _module_for(name: str) -> str:
    for suffix, module in _SAVERS.items():
        if name.endswith(suffix):
            return module
    known = ", ".join([*_SAVERS][:-1]) + " or " + [*_SAVERS][-1]
    raise UsageError(
        f"cannot write {name!r}: expected a path that ends in {known}", hint=f"name it {_better_name(name)!r}"
    )


def _better_name(name: str) -> str:
    """In small letters, if that is all: files are also looked for by their suffix."""
    suffix = known_suffix(name.lower())
    return name[: -len(suffix)] + suffix if suffix else f"{name}.json"


def _save_function(module: str) -> Saver:
    with loading:
        from importlib import import_module

        save: Saver = import_module(module).save
    return save

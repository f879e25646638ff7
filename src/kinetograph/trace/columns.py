"""The columns of a trace as NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kinetograph.fork_locks import loading
from kinetograph.hints import TYPE_CHECKING, Any
from kinetograph.trace.words import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kinetograph import _native

    Column = NDArray[Any]

__all__ = ["COLUMNS", "Columns"]

# What a column holds where the native trace has none, because no event needs it; else None.
COLUMNS: dict[str, tuple[str, int] | None] = {
    "start_ns": None,
    "duration_ns": None,
    "name": None,
    "track": None,
    "category": None,
    "kind": None,
    "scope": None,
    "flags": None,
    "correlation": ("int64", 0),
    "link": ("int32", -1),
    "sequence": ("int64", -1),
    "record_function": ("uint32", 0),
    "parent": None,
    "self_ns": None,
    "depth": None,
    "launcher": ("int32", -1),
    "device_ns": ("int64", 0),
    "self_device_ns": ("int64", 0),
}


class Columns(Mapping[str, Any]):
    """Read-only views, one row per event; nothing is copied.

    >>> trace.columns["duration_ns"].max()
    48200000

    `name`, `category` and `track` are indexes in the lists of the trace. `parent`, `link` and `launcher` hold
    rows, -1 where there is none. From `parent` on they are computed when first asked for: `device_ns` is the
    work on devices that an event launched, with its children; `launcher` tells that event to the work.
    """

    def __init__(self, native: _native.Trace) -> None:
        self._native = native
        self._views: dict[str, Column] = {}
        self._version = native.version

    def __getitem__(self, name: str) -> Column:
        if self._version != self._native.version:
            self._views.clear()
            self._version = self._native.version
        view = self._views.get(name)
        if view is None:
            view = self._views[name] = self._view(name)
        return view

    def _view(self, name: str) -> Column:
        if name not in COLUMNS:
            raise KeyError(f"{name!r}; a trace has the columns {', '.join(COLUMNS)}")
        with loading:
            import numpy  # noqa: F401
        column: Column | None = self._native.column(name)
        return self._filler(name) if column is None else column

    def __iter__(self) -> Iterator[str]:
        return iter(COLUMNS)

    def __len__(self) -> int:
        return len(COLUMNS)

    def __repr__(self) -> str:
        return f"<columns {', '.join(COLUMNS)} of {counted(len(self._native), 'event')}>"

    def _filler(self, name: str) -> Column:
        import numpy as np

        filler = COLUMNS[name]
        assert filler is not None
        dtype, value = filler
        return np.broadcast_to(np.array(value, dtype=dtype), (len(self._native),))

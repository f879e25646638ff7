"""JSON for the modules that `import kinetograph` loads: the parser comes with the first text to read."""

from __future__ import annotations

import os
from enum import Enum
from typing import Any

__all__ = ["encodable", "from_json", "plain", "to_json"]

_LARGEST_ARRAY = 64
"""Elements of an array that is written out; of larger ones only the shape is."""


def from_json(text: str) -> Any:
    import json

    return json.loads(text)


def to_json(value: object) -> str:
    """Strict JSON: what it does not have, such as nan, raises."""
    import json

    return json.dumps(value, default=plain, allow_nan=False)


def encodable(text: str) -> str:
    """Lone surrogates spelled out, as native code writes them in names."""
    return text.encode("utf-8", "backslashreplace").decode()


def plain(value: Any) -> Any:
    """What JSON has for a value it does not know: the `default` of `json.dumps`."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if callable(getattr(value, "isoformat", None)):
        return value.isoformat()
    if callable(getattr(value, "tolist", None)):
        return _plain_array(value)
    raise TypeError(f"JSON has no {type(value).__name__}")


def _plain_array(array: Any) -> Any:
    """NumPy's scalars and arrays and all that look like them, without importing their library."""
    shape = tuple(getattr(array, "shape", ()))
    size = 1
    for length in shape:
        size *= length
    place = str(getattr(array, "device", "cpu"))
    # To read an array from a GPU would make the program wait for the GPU.
    if place == "cpu" and size <= _LARGEST_ARRAY:
        return array.tolist()
    where = "" if place == "cpu" else f" on {place}"
    return f"<{type(array).__name__} {shape} of {getattr(array, 'dtype', 'values')}{where}>"

"""JSON for the modules that `import kinetograph` loads: the parser comes with the first text to read."""

from __future__ import annotations

import os
from enum import Enum

from kinetograph.hints import Any

__all__ = ["DEEPEST", "encodable", "from_json", "plain", "shallow", "strict_json", "to_json"]

_LARGEST_ARRAY = 64
"""Elements of an array that is written out; of larger ones only the shape is."""


DEEPEST = 128
"""Lists and dicts within each other that a trace file may hold; native/format/json_cursor.h has it too."""

_TOO_DEEP = "..."


def from_json(text: str) -> Any:
    import json

    return json.loads(text)


def strict_json(text: str) -> Any:
    """The value of JSON text. ValueError for all that would break a trace file or not fit into one."""
    import json

    too_deep = f"values are nested deeper than {DEEPEST}"
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError(too_deep) from None
    if shallow(value) is not value:
        raise ValueError(too_deep)
    return value


def _refuse_constant(name: str) -> None:
    """Python reads NaN and Infinity, but JSON has neither."""
    raise ValueError(f"{name} is not JSON")


def shallow(value: Any, levels: int = DEEPEST) -> Any:
    """The same value if it is nested no deeper than that, else one with dots for what is."""
    if not isinstance(value, (dict, list)):
        return value
    if levels == 0:
        return _TOO_DEEP
    if isinstance(value, list):
        cut: Any = [shallow(each, levels - 1) for each in value]
        is_same = all(new is old for new, old in zip(cut, value, strict=True))
    else:
        cut = {key: shallow(each, levels - 1) for key, each in value.items()}
        is_same = all(cut[key] is each for key, each in value.items())
    return value if is_same else cut


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

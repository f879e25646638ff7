"""What annotations are spelled with: `typing`, or, where nobody has loaded that, next to nothing.

Loading it takes a fifth of the time of `import kinetograph`, and a program that only runs needs none of it.
"""

from __future__ import annotations

import sys

__all__ = [
    "TYPE_CHECKING",
    "Any",
    "ClassVar",
    "Literal",
    "NoReturn",
    "ParamSpec",
    "Protocol",
    "Self",
    "TypeVar",
    "dataclass_transform",
    "overload",
]

TYPE_CHECKING = False

if TYPE_CHECKING or "typing" in sys.modules:
    from typing import (
        Any,
        ClassVar,
        Literal,
        NoReturn,
        ParamSpec,
        Protocol,
        Self,
        TypeVar,
        dataclass_transform,
        overload,
    )
else:

    class Any:
        """Stands for every word; subscripted, it is itself."""

        def __init__(self, *_arguments, **_options):
            pass

        def __class_getitem__(cls, _parameters):
            return cls

    ClassVar = Literal = NoReturn = ParamSpec = Protocol = Self = TypeVar = Any

    def overload(function):
        return function

    def dataclass_transform(**_options):
        return overload

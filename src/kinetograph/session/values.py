"""`Value`: the base of our configs. Does what a frozen dataclass does, without the price of importing one.

`dataclasses` brings `inspect`, `ast` and `tokenize`: as much again as all that `import kinetograph` loads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType

from kinetograph.hints import Any, ClassVar, Self, dataclass_transform

__all__ = ["Value"]


@dataclass_transform(frozen_default=True)
class Value:
    """What a subclass annotates are its fields, in order; each must have a default.

    >>> class Size(Value):
    ...     width: int = 1
    ...     height: int = 1
    >>> Size(3).replace(height=5)
    Size(width=3, height=5)

    Defaults are shared by all instances, so they must be values themselves.
    """

    defaults: ClassVar[Mapping[str, Any]] = {}
    """The fields, in order, with the default of each."""

    def __init_subclass__(cls) -> None:
        cls.defaults = {**cls.defaults, **{name: getattr(cls, name) for name in cls.__annotations__}}
        cls.__init__ = _constructor(cls.__qualname__, cls.defaults)  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        """Where a subclass checks its fields, and replaces those it wants in another form."""

    def replace(self, **changes: Any) -> Self:
        """A copy with other values for some fields, checked like any new one."""
        return type(self)(**(vars(self) | changes))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed; replace({name}=...) makes a new one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{name} cannot be deleted from a {type(self).__name__}")

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    def __repr__(self) -> str:
        # Of a dozen options one or two are set: those are what a reader looks for.
        chosen = {name: value for name, value in vars(self).items() if value != self.defaults[name]}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in chosen.items())})"


def _constructor(owner: str, defaults: Mapping[str, Any]) -> Callable[..., None]:
    """Written out and compiled, so that Python itself checks the arguments and `help` shows them.

    Not by `compile`, whose first call makes all classes of `ast`: a tenth of what `import kinetograph` takes.
    """
    parameters = ", ".join(f"{name}=defaults[{name!r}]" for name in defaults)
    fields = ", ".join(f"{name}={name}" for name in defaults)
    source = f"def __init__(self, {parameters}):\n vars(self).update({fields})\n self.__post_init__()"
    scope: dict[str, Any] = {"defaults": defaults}
    exec(source, scope)
    constructor: FunctionType = scope["__init__"]
    # Under the name of this file, so that calls of it are known to be our own.
    constructor.__code__ = constructor.__code__.replace(co_filename=__file__)
    # Python's errors tell this name, which else does not say whose arguments were wrong.
    constructor.__qualname__ = f"{owner}.__init__"
    return constructor

"""Members of a class bind with a scope around them as they do without."""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import pytest

import kinetograph as kg
from recorded import names, recording


class Base:
    subclasses: ClassVar[list[tuple[type, str]]] = []

    @kg.scope("init subclass")
    def __init_subclass__(cls, *, tag: str = "") -> None:
        super().__init_subclass__()
        Base.subclasses.append((cls, tag))

    @kg.scope("outer")
    @kg.scope("inner")
    def __class_getitem__(cls, item: Any) -> tuple[type, Any]:
        return cls, item


class Over:
    @kg.scope("over")
    @classmethod
    def __class_getitem__(cls, item: Any) -> tuple[type, Any]:
        return cls, item


class Under:
    @classmethod
    @kg.scope("under")
    def __class_getitem__(cls, item: Any) -> tuple[type, Any]:
        return cls, item

    @classmethod
    @kg.scope("function")
    def of(cls) -> type:
        return cls


class Made:
    @kg.scope("new")
    def __new__(cls, value: int) -> Made:
        made = super().__new__(cls)
        made.value = value
        return made

    value: int


def test_hooks_that_are_class_methods_by_their_name_stay_class_methods() -> None:
    with recording() as window:

        class Child(Base, tag="x"):
            pass

        assert Base.subclasses == [(Child, "x")]
        assert Child[int] == (Child, int)
        assert Over["item"] == (Over, "item")
        assert Under["item"] == (Under, "item")
    assert names(window.trace) == ["init subclass", "outer", "inner", "over", "under"]
    Base.subclasses.clear()


def test_new_stays_a_static_method() -> None:
    with recording() as window:
        made = Made(3)
        assert (type(made), made.value) == (Made, 3)
    assert names(window.trace) == ["new"]


class Binds:
    def __get__(self, instance: Any, owner: type) -> Any:
        return functools.partial(self, instance)

    def __call__(self, instance: Any) -> Any:
        return instance


class Holder:
    size = kg.scope("len")(len)
    append = kg.scope("bound")([].append)
    of = kg.scope("method")(Under.of)
    upper = kg.scope("descriptor")(str.upper)
    cached = kg.scope("cached")(functools.lru_cache(lambda self: self))
    custom = kg.scope("custom")(Binds())
    twice = kg.scope("outer")(kg.scope("inner")(len))


def test_what_does_not_bind_does_not_bind_in_a_scope() -> None:
    holder: Any = Holder()
    with recording() as window:
        assert holder.size("abc") == 3
        assert holder.append(1) is None
        assert holder.of() is Under
        assert holder.twice([1]) == 1
    seen = [name for name in names(window.trace) if name != "function"]
    assert seen == ["len", "bound", "method", "outer", "inner"]


def test_what_binds_without_being_a_function_binds_in_a_scope() -> None:
    holder: Any = Holder()
    with recording() as window:
        assert holder.cached() is holder
        assert holder.custom() is holder
        with pytest.raises(TypeError, match=r"str"):
            holder.upper()
    assert names(window.trace) == ["cached", "custom", "descriptor"]


# Python announces that partials will bind some day.
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_partial_binds_if_partials_do() -> None:
    class Partials:
        bare = functools.partial(lambda *args: args, 1)
        scoped = kg.scope("partial")(functools.partial(lambda *args: args, 1))

    instance: Any = Partials()
    with recording() as window:
        assert instance.scoped(2) == instance.bare(2)
    assert names(window.trace) == ["partial"]


def test_a_scoped_builtin_is_called_with_any_arguments() -> None:
    most = kg.scope("max")(max)
    with recording():
        assert most(1, 2) == 2
        assert most([3], key=lambda value: -value) == 3
        assert most(*[], *[[4]]) == 4
    assert repr(most).startswith("<<built-in function max> in ")
    assert most.__name__ == "max"

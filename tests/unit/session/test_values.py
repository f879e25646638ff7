"""Value: a frozen dataclass in all that matters, at a tenth of the import."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest

from kinetograph.session.values import Value


class Size(Value):
    width: int = 1
    height: int = 2


class Box(Size):
    depth: int = 3
    contents: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.depth < 0:
            raise ValueError("depth")
        object.__setattr__(self, "contents", tuple(self.contents))


class SameFields(Value):
    width: int = 1
    height: int = 2


def test_fields_come_by_position_by_name_or_from_their_default() -> None:
    assert vars(Size(5)) == {"width": 5, "height": 2}
    assert vars(Size(5, height=7)) == {"width": 5, "height": 7}
    assert vars(Size(height=7)) == {"width": 1, "height": 7}


def test_a_subclass_adds_its_fields_after_those_of_its_base() -> None:
    assert dict(Box.defaults) == {"width": 1, "height": 2, "depth": 3, "contents": ()}
    assert dict(Size.defaults) == {"width": 1, "height": 2}
    assert Box(1, 1, 1, ("cat",)).contents == ("cat",)


@pytest.mark.parametrize(("values", "named"), [((1, 2, 3), {}), ((), {"weight": 1}), ((1,), {"width": 1})])
def test_arguments_that_are_no_fields_are_refused(values: tuple[int, ...], named: dict[str, int]) -> None:
    with pytest.raises(TypeError, match=r"^Size\.__init__\(\)"):
        Size(*values, **named)


def test_a_field_without_a_default_is_refused_with_its_class() -> None:
    with pytest.raises(AttributeError, match="weight"):
        type("Heavy", (Value,), {"__annotations__": {"weight": "int"}})


def test_the_check_of_the_class_sees_every_new_value() -> None:
    contents: Any = ["cat"]
    assert Box(contents=contents).contents == ("cat",)
    with pytest.raises(ValueError, match="depth"):
        Box(depth=-1)
    with pytest.raises(ValueError, match="depth"):
        Box().replace(depth=-1)


def test_replace_changes_a_copy() -> None:
    small = Size()
    assert small.replace(height=9) == Size(1, 9)
    assert small == Size()
    with pytest.raises(TypeError, match="weight"):
        small.replace(weight=1)


def test_equal_fields_of_the_same_class_are_equal_and_hash_alike() -> None:
    assert Size(3) == Size(3, 2)
    assert hash(Size(3)) == hash(Size(3, 2))
    assert Size(3) != Size(4)
    assert Size() != SameFields()
    assert Size() != (1, 2)


def test_nothing_can_be_changed_deleted_or_added() -> None:
    size: Any = Size()
    with pytest.raises(AttributeError, match=r"replace\(width=...\)"):
        size.width = 3
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del size.width
    with pytest.raises(AttributeError, match="cannot be changed"):
        size.weight = 3


def test_repr_shows_what_was_chosen() -> None:
    assert repr(Size()) == "Size()"
    assert repr(Box(3, contents=("cat",))) == "Box(width=3, contents=('cat',))"


def test_the_signature_names_the_fields() -> None:
    assert str(inspect.signature(Size)) == "(width=1, height=2)"


def test_copies_and_pickles_are_equal() -> None:
    box = Box(7, contents=("cat",))
    assert copy.deepcopy(box) == box
    assert pickle.loads(pickle.dumps(box)) == box

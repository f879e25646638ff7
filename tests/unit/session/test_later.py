"""Names of later parts exist, say what is missing when used, and do not disturb tools that look at them."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

from kinetograph.errors import NotAvailable
from kinetograph.session import later

NAMES = [name for name in later.__all__ if name != "Later"]


@pytest.mark.parametrize("name", NAMES)
def test_using_a_later_name_says_what_is_missing(name: str) -> None:
    with pytest.raises(NotAvailable, match=rf"kinetograph\.{name} is not available yet: .*come"):
        getattr(later, name)("any", argument=1)


def test_members_of_later_modules_raise_too() -> None:
    module = later.Later("soon", "it comes tomorrow", members="now")
    with pytest.raises(NotAvailable, match=r"kinetograph\.soon\.now"):
        module.now(None)  # type: ignore[operator]


@pytest.mark.parametrize("name", NAMES)
def test_looking_at_a_later_name_is_harmless(name: str) -> None:
    stub = getattr(later, name)
    assert "not available yet" in repr(stub)
    assert inspect.getdoc(stub)
    assert inspect.unwrap(stub) is stub
    assert not hasattr(stub, "no_such_member")


@pytest.mark.parametrize("name", NAMES)
def test_a_later_name_can_be_copied_and_pickled(name: str) -> None:
    stub = getattr(later, name)
    for twin in (copy.copy(stub), copy.deepcopy(stub), pickle.loads(pickle.dumps(stub))):
        assert repr(twin) == repr(stub)

"""Being told of an import must never be what breaks it: other tools have finders, too."""

from __future__ import annotations

import importlib.abc
import sys
import types
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from kinetograph.session.late_import import AfterImport

NAME = "a_module_of_this_test"


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[types.ModuleType]]:
    (tmp_path / f"{NAME}.py").write_text("value = 5")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    told: list[types.ModuleType] = []
    AfterImport(NAME, told.append).install()
    yield told
    sys.modules.pop(NAME, None)


def imported() -> Any:
    return __import__(NAME)


def test_it_is_told_once_with_the_whole_module(seen: list[types.ModuleType]) -> None:
    assert imported().value == 5
    assert seen == [sys.modules[NAME]]


def test_a_finder_without_find_spec_is_passed_over(seen: list[types.ModuleType]) -> None:
    sys.meta_path.insert(1, object())  # type: ignore[arg-type]
    assert imported().value == 5
    assert len(seen) == 1


class AsksAllOthers(importlib.abc.MetaPathFinder):
    """As we do."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name != NAME:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        return next((spec for finder in others if (spec := finder.find_spec(name, path, target))), None)


def test_two_that_ask_all_the_others_come_to_an_end(seen: list[types.ModuleType]) -> None:
    sys.meta_path.insert(1, AsksAllOthers())
    assert imported().value == 5
    assert len(seen) == 1


class SharedLoader:
    """As that of an archive, which loads all that is in it."""

    def exec_module(self, module: Any) -> None:
        module.value = 5


def test_another_module_of_the_same_loader_is_not_ours() -> None:
    told: list[types.ModuleType] = []
    loader = SharedLoader()
    AfterImport(NAME, told.append)._watch(loader)
    for name in ("another", NAME, "a third"):
        module: Any = types.ModuleType(name)
        loader.exec_module(module)
        assert module.value == 5
    assert [module.__name__ for module in told] == [NAME]

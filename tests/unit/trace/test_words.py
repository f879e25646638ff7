"""Numbers that are printed as words, and numbers of things."""

from __future__ import annotations

import json
from enum import Enum

import pytest

import kinetograph as kg
from kinetograph.session.members import member_of
from kinetograph.trace.words import Word, counted, torch_member_name


@pytest.mark.parametrize(
    "word",
    [
        kg.EventKind.SPAN,
        kg.DeviceType.CUDA,
        kg.RecordScope.USER_SCOPE,
        kg.ActivityType.CPU,
        kg.ProfilerState.KINETO,
        kg.kineto.ActivityType.CPU_OP,
    ],
)
def test_a_word_prints_its_name_and_stays_a_number(word: Word) -> None:
    name = f"{type(word).__name__}.{word.name}"
    assert (str(word), f"{word}", f"{word:>3d}") == (name, name, f"{word.value:>3d}")
    assert (word, json.dumps(word)) == (word.value, str(word.value))


def test_one_of_a_thing_has_no_plural() -> None:
    assert [counted(number, "event") for number in (0, 1, 2450)] == ["0 events", "1 event", "2,450 events"]


def test_another_enum_may_say_that_it_equals_a_word() -> None:
    class Theirs(Enum):
        CPU = 0

        def __eq__(self, other: object) -> bool:
            return getattr(other, "name", None) == self.name

        __hash__ = Enum.__hash__

    assert (kg.ActivityType.CPU == Theirs.CPU, kg.ActivityType.CPU != Theirs.CPU) == (True, False)
    assert (kg.ActivityType.CUDA == Theirs.CPU, kg.ActivityType.CUDA != Theirs.CPU) == (False, True)
    assert kg.ActivityType.CPU.__eq__("CPU") is kg.ActivityType.CPU.__ne__("CPU") is NotImplemented


def test_a_word_equals_torchs_member_of_its_name_and_no_other() -> None:
    kind = type("ProfilerActivity", (), {"__module__": "torch._C._profiler", "name": "CPU"})
    cpu, cuda = kg.ActivityType.CPU, kg.ActivityType.CUDA
    assert (cpu == kind(), cpu != kind(), cuda == kind(), cuda != kind()) == (True, False, False, True)


def test_a_class_that_names_no_module_is_not_torchs() -> None:
    unplaced = type("ActivityType", (), {"__module__": None, "name": "CPU"})()
    assert torch_member_name(kg.ActivityType, unplaced) is None
    assert unplaced != kg.ActivityType.CPU
    with pytest.raises(kg.ArgumentError, match="expected a member of ActivityType"):
        member_of(kg.ActivityType, unplaced, what="activities")

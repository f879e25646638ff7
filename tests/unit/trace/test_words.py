"""Numbers that are printed as words, and numbers of things."""

from __future__ import annotations

import json

import pytest

import kinetograph as kg
from kinetograph.trace.words import Word, counted


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

"""Schedules, and what happens between two steps; test_torch_profile.py holds them against PyTorch's."""

from __future__ import annotations

import pytest

import kinetograph as kg
from kinetograph.session.schedule import asked_action, complaint, transition

NONE, WARMUP, RECORD, SAVE = (
    kg.ProfilerAction.NONE,
    kg.ProfilerAction.WARMUP,
    kg.ProfilerAction.RECORD,
    kg.ProfilerAction.RECORD_AND_SAVE,
)


def actions(count: int, **options: int) -> list[kg.ProfilerAction]:
    schedule = kg.schedule(**options)
    return [schedule(step) for step in range(count)]


def test_a_schedule_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(kg.ArgumentError, match="schedule"):
        kg.profile(schedule=3)  # type: ignore[arg-type]


def test_a_cycle_waits_warms_up_records_and_saves_with_its_last_step() -> None:
    assert actions(5, wait=1, warmup=1, active=3) == [NONE, WARMUP, RECORD, RECORD, SAVE]


def test_cycles_go_on_for_ever_unless_told_how_often() -> None:
    assert actions(6, wait=1, warmup=1, active=1) == [NONE, WARMUP, SAVE] * 2
    assert actions(6, wait=1, warmup=1, active=1, repeat=1) == [NONE, WARMUP, SAVE, NONE, NONE, NONE]


def test_the_first_steps_can_be_skipped_and_the_first_wait_left_out() -> None:
    assert actions(4, wait=1, warmup=1, active=1, skip_first=1) == [NONE, NONE, WARMUP, SAVE]
    with_wait = actions(5, wait=2, warmup=1, active=1, skip_first=1, skip_first_wait=1)
    assert with_wait == [NONE, WARMUP, SAVE, NONE, NONE]


@pytest.mark.parametrize("option", ["wait", "warmup", "repeat", "skip_first"])
def test_less_than_no_steps_is_an_error(option: str) -> None:
    with pytest.raises(kg.KinetographError, match=option):
        kg.schedule(**{"wait": 1, "warmup": 1, "active": 1} | {option: -1})


def test_a_cycle_without_active_steps_is_an_error() -> None:
    with pytest.raises(kg.KinetographError, match="active"):
        kg.schedule(wait=1, warmup=1, active=0)


def test_a_step_before_the_first_is_an_error() -> None:
    with pytest.raises(kg.KinetographError, match="step"):
        kg.schedule(wait=1, warmup=1, active=1)(-1)


def test_a_schedule_without_warmup_warns_where_it_was_made() -> None:
    with pytest.warns(UserWarning, match="won't be using warmup") as caught:
        kg.schedule(wait=1, warmup=0, active=1)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("answer", "message"),
    [(None, "expected a member"), ("LATER", "expected a member"), ("DEVICE_STOPPED", "only the profiler")],
)
def test_what_a_schedule_cannot_ask_for_is_an_error(answer: object, message: str) -> None:
    with pytest.raises(kg.KinetographError, match=message):
        asked_action(lambda step: answer, 0)


def test_a_schedule_may_answer_with_the_name_of_an_action() -> None:
    assert asked_action(lambda step: "record", 0) is RECORD


def test_a_cycle_is_prepared_started_and_made_ready_in_order() -> None:
    assert transition(NONE, WARMUP) == ("prepare",)
    assert transition(WARMUP, RECORD) == ("start",)
    assert transition(RECORD, SAVE) == ()
    assert transition(SAVE, SAVE) == ("stop", "ready", "prepare", "start")
    assert transition(SAVE, None) == transition(RECORD, None) == ("stop", "ready")


def test_only_schedules_that_lose_events_are_complained_of() -> None:
    assert complaint(RECORD, NONE) == "Incorrect schedule: RECORD followed by NONE"
    assert complaint(WARMUP, NONE)
    assert complaint(RECORD, WARMUP)
    assert complaint(SAVE, NONE) is None
    assert complaint(RECORD, None) is None

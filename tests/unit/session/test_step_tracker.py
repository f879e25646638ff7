"""The step of the program, whoever counts."""

from __future__ import annotations

import threading

import pytest

import kinetograph as kg
from kinetograph import kineto
from kinetograph.session.step_tracker import KinetoStepTracker


def test_two_who_count_the_same_steps_count_them_once() -> None:
    start = KinetoStepTracker.current_step()
    counted = [KinetoStepTracker.increment_step(who) - start for who in ("a", "b", "a", "b")]
    assert counted == [1, 2, 2, 3] or counted == [1, 1, 2, 2]
    assert KinetoStepTracker.erase_step_count("a")
    assert KinetoStepTracker.erase_step_count("b")
    assert not KinetoStepTracker.erase_step_count("b")


def test_who_begins_late_counts_from_where_the_program_is() -> None:
    KinetoStepTracker.increment_step("early")
    KinetoStepTracker.init_step_count("late")
    here = KinetoStepTracker.current_step()
    assert KinetoStepTracker.increment_step("late") == here + 1
    for who in ("early", "late"):
        KinetoStepTracker.erase_step_count(who)


def test_who_hears_of_a_step_keeps_nobody_from_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A listener may wait for a thread that begins to count: both would wait for ever."""
    ended: list[bool] = []

    def listener() -> None:
        other = threading.Thread(target=KinetoStepTracker.init_step_count, args=("other",))
        other.start()
        other.join(5)
        ended.append(not other.is_alive())

    monkeypatch.setattr(KinetoStepTracker, "_listeners", [listener])
    KinetoStepTracker.increment_step("one")
    assert ended == [True]
    for who in ("one", "other"):
        KinetoStepTracker.erase_step_count(who)


def test_steps_of_a_profile_are_steps_of_the_program_and_of_kineto() -> None:
    kineto.init()
    kineto.init_profiler_if_registered()
    start, start_of_kineto = KinetoStepTracker.current_step(), kineto.step_count()
    with kg.profile() as outer, kg.profile() as inner:
        for _ in range(3):
            outer.step()
            inner.step()
    assert KinetoStepTracker.current_step() == start + 3
    assert kineto.step_count() == start_of_kineto + 3


def test_profiles_that_are_over_count_no_more(recwarn: pytest.WarningsRecorder) -> None:
    for _ in range(3):
        with kg.profile() as prof:
            prof.step()
    assert not [who for who in KinetoStepTracker._steps if who.startswith("ProfilerStep")]

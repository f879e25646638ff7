"""When captures warm up, begin and end."""

from __future__ import annotations

import pytest

from kinetograph.errors import UsageError
from kinetograph.ondemand.request import CaptureRequest
from kinetograph.ondemand.window import Window

SECOND = 1_000_000_000
WALL = 1_700_000_000 * SECOND


def window(step: int = 0, **members: object) -> Window:
    return Window(CaptureRequest(**members), step, now_ns=0, wall_ns=WALL)  # type: ignore[arg-type]


def warm(window: Window) -> Window:
    window.is_warm = True
    return window


def test_without_further_words_a_capture_begins_at_once_and_lasts_half_a_second() -> None:
    asked = window()
    assert asked.wants_warm_up(0, step=0)
    assert not asked.wants_begin(0, step=0, between_steps=False)
    assert warm(asked).wants_begin(0, step=0, between_steps=False)
    asked.begin(10, step=0)
    assert asked.quiet_ns(10) == SECOND // 2
    assert not asked.wants_end(SECOND // 2 + 9, step=0)
    assert asked.wants_end(SECOND // 2 + 10, step=0)


def test_a_capture_at_a_wall_time_is_made_ready_shortly_before() -> None:
    asked = window(start_time_ns=WALL + 10 * SECOND)
    assert not asked.wants_warm_up(9 * SECOND - 1, step=0)
    assert asked.wants_warm_up(asked.quiet_ns(0), step=0)
    assert not warm(asked).wants_begin(10 * SECOND - 1, step=0, between_steps=False)
    assert asked.wants_begin(10 * SECOND, step=0, between_steps=False)


@pytest.mark.parametrize("start_ns", [WALL - 11 * SECOND, WALL + 100_000 * SECOND])
def test_a_start_that_cannot_be_meant_is_refused(start_ns: int) -> None:
    with pytest.raises(UsageError, match=r"start_time_ns is \d+ s (ago|from now)"):
        window(start_time_ns=start_ns)


def test_steps_are_recorded_whole_beginning_with_the_next() -> None:
    asked = window(step=5, steps=2)
    assert asked.first_step == 6
    assert asked.wants_warm_up(0, step=5)
    warm(asked)
    assert not asked.wants_begin(0, step=6, between_steps=False)
    assert asked.wants_begin(0, step=6, between_steps=True)
    asked.begin(0, step=6)
    assert not asked.wants_end(1000 * SECOND, step=7)
    assert asked.wants_end(0, step=8)


def test_a_step_that_went_by_before_all_was_ready_moves_the_window() -> None:
    asked = warm(window(step=5, steps=2))
    asked.begin(0, step=9)
    assert not asked.wants_end(0, step=10)
    assert asked.wants_end(0, step=11)


@pytest.mark.parametrize(
    ("members", "current", "first"),
    [
        ({"start_step": 20}, 5, 20),
        ({"start_step": 3}, 5, 6),
        ({"start_step_multiple": 10}, 5, 10),
        ({"start_step_multiple": 10}, 10, 20),
    ],
)
def test_the_first_step_is_never_one_that_has_begun(
    members: dict[str, int], current: int, first: int
) -> None:
    asked = window(step=current, **members)
    assert asked.first_step == first
    assert asked.wants_warm_up(0, step=first - 1)
    assert asked.wants_warm_up(0, step=first - 2) == (first - 2 >= first - 1)


def test_a_window_that_begins_with_a_step_may_last_a_time() -> None:
    asked = warm(window(step=5, start_step=8, duration_ns=SECOND))
    asked.begin(3 * SECOND, step=8)
    assert not asked.wants_end(3 * SECOND, step=100)
    assert asked.wants_end(4 * SECOND, step=8)

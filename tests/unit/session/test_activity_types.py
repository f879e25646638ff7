"""Choosing activities, and types of events among them."""

from __future__ import annotations

from typing import Any

import pytest

from kinetograph import _native
from kinetograph.errors import KinetographError
from kinetograph.session.activity import ActivityType, supported_activities
from kinetograph.session.activity_types import chosen_activities, chosen_categories

CPU, CUDA = ActivityType.CPU, ActivityType.CUDA


def categories(activities: Any) -> set[str]:
    mask = chosen_categories(*chosen_activities(activities))
    return {name for number, name in enumerate(_native.Trace().categories) if mask >> number & 1}


def test_nothing_said_is_all_that_is_there() -> None:
    assert chosen_activities(None) == (supported_activities(), {})


@pytest.mark.parametrize(
    "activities", [[CPU, {CUDA: ["GPU_MEMCPY"]}], [{"cpu": ["CPU_OP"], CUDA: []}], {CPU: (), "CUDA": ()}]
)
def test_members_names_and_filters_are_taken_together(activities: Any) -> None:
    assert chosen_activities(activities)[0] == {CPU, CUDA}


def test_a_filter_keeps_only_what_it_names() -> None:
    kept = categories({CPU: ["USER_ANNOTATION"]})
    assert "user_annotation" in kept
    assert kept.isdisjoint({"cpu_op", "python_function", "cpu_instant_event", "counter", "cuda_runtime"})


def test_an_empty_filter_keeps_nothing_of_its_activity() -> None:
    assert categories([CPU, {CUDA: []}]).isdisjoint({"kernel", "gpu_memcpy"})


def test_what_another_activity_wants_too_stays() -> None:
    kept = categories([{CPU: ["CPU_OP"]}, CUDA])
    assert {"cpu_op", "cuda_runtime", "kernel"} <= kept
    assert "user_annotation" not in kept


def test_without_filters_everything_stays() -> None:
    assert categories([CPU]) == set(_native.Trace().categories)


@pytest.mark.parametrize("name", ["NONSENSE", "cpu_op", "GPU_MEMCPY"])
def test_types_that_do_not_belong_to_it_are_refused_with_the_choices(name: str) -> None:
    with pytest.raises(KinetographError, match=f"{name} is no type") as caught:
        chosen_activities({CPU: [name]})
    assert "USER_ANNOTATION" in str(caught.value.hint)


@pytest.mark.parametrize("activities", [[CPU, "cpu"], [CPU, {CPU: []}], [{CPU: []}, {CPU: []}]])
def test_an_activity_twice_is_an_error(activities: Any) -> None:
    with pytest.raises(KinetographError, match="CPU is there more than once"):
        chosen_activities(activities)


@pytest.mark.parametrize("activities", [[], {}, "CPU", 3, [3], {CPU: "CPU_OP"}, {CPU: [3]}])
def test_what_names_no_activity_is_an_error(activities: Any) -> None:
    with pytest.raises(KinetographError, match="activities"):
        chosen_activities(activities)

"""Activities come as our members, as PyTorch's, or as names; all mean ours."""

from __future__ import annotations

import pytest

from kinetograph.errors import KinetographError
from kinetograph.session.activity import ActivityType, ProfilerActivity, activity_set, supported_activities


def torch_member(class_name: str, name: str, module: str = "torch._C._profiler") -> object:
    """Looks like a member of one of torch's enums, which are no Python enums."""
    return type(class_name, (), {"__module__": module, "name": name})()


def test_pytorchs_names_are_aliases() -> None:
    assert ProfilerActivity is ActivityType
    assert ActivityType["PrivateUse1"] is ActivityType.PRIVATEUSE1


def test_members_names_and_torchs_members_mean_the_same() -> None:
    asked = ["cpu", ActivityType.CPU, torch_member("ProfilerActivity", "CPU")]
    assert activity_set(asked) == {ActivityType.CPU}
    assert activity_set([torch_member("ProfilerActivity", "PrivateUse1")]) == {ActivityType.PRIVATEUSE1}


def test_nothing_named_means_all_that_is_supported() -> None:
    assert activity_set(None) == supported_activities() == {ActivityType.CPU}
    assert activity_set([]) == frozenset()


@pytest.mark.parametrize(
    "stranger",
    [
        "gpu",
        2,
        None,
        torch_member("ProfilerActivity", "CPU", module="elsewhere"),
        torch_member("DeviceType", "CPU"),
    ],
)
def test_a_stranger_is_refused_with_the_list_of_members(stranger: object) -> None:
    with pytest.raises(KinetographError, match="expected a member of ActivityType") as caught:
        activity_set([stranger])
    assert caught.value.hint == "one of CPU, XPU, CUDA, HPU, MTIA, PRIVATEUSE1"


@pytest.mark.parametrize("single", ["cpu", ActivityType.CPU])
def test_a_single_activity_is_no_set(single: object) -> None:
    with pytest.raises(KinetographError, match="expected a set or list"):
        activity_set(single)  # type: ignore[arg-type]

"""Our names against those of a real PyTorch: enums with their numbers, and what its objects tell."""

from __future__ import annotations

import re
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest
from tests.torch_programs import NEWEST, of_the_newest

import kinetograph as kg
from kinetograph.kineto import ActivityType as KinetoActivityType
from kinetograph.session.activity import ActivityType, activity_set
from kinetograph.session.config import ExperimentalConfig, ProfilerConfig
from kinetograph.session.state import ProfilerState
from kinetograph.trace import DeviceType, RecordScope

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed here")

_BUILDS = "fills one from outside; ours are views of a trace"
_CHANGES = "changes the list; ours are views of a trace, and `list(...)` of one is a list"
_OPTION = "an option of the profile, which has it itself"
# Names of PyTorch's that ours have not, and why. A new PyTorch's that ours should have are found by this.
LEFT_OUT = {
    "KinetoEvent": {},
    "FunctionEvent": {_BUILDS: "append_cpu_child append_kernel set_cpu_parent"},
    "FunctionEventAvg": {_BUILDS: "add"},
    "EventList": {_CHANGES: "append clear copy extend insert pop remove reverse sort"},
    "EventList of averages": {_CHANGES: "append clear copy extend insert pop remove reverse"},
    "_KinetoProfile": {
        "kept for its own next step": "activity_filters has_cudagraphs",
        "of export_memory_timeline, which comes with the memory part": "mem_tl",
    },
    "profile": {
        "kept for its own next step": "action_map activity_filters has_cudagraphs step_rec_fn",
        "of export_memory_timeline, which comes with the memory part": "mem_tl",
    },
    "profile.profiler": {
        _OPTION: "acc_events custom_trace_id_callback experimental_config post_processing_timeout_s "
        "profile_memory record_shapes toggle_collection_dynamic use_device with_flops with_modules "
        "with_stack",
        "how it was set up": "activity_filters config create_trace_id default_trace_id enabled entered "
        "kineto_activities profiler_kind use_cpu use_cuda",
        "events of another interface, which answer to calls": "kineto_results",
        "clock of its own; `trace.start_ns` and `end_ns` say when it recorded": "profiling_start_time_ns "
        "profiling_end_time_ns",
    },
}


@pytest.fixture(scope="module")
def objects() -> dict[str, tuple[Any, Any]]:
    """PyTorch's and ours."""
    theirs = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    ours = kg.profile()
    for profile in (theirs, ours):
        with profile:
            torch.ones(2).sum()
    averages = theirs.key_averages()
    averages.table()  # gives its rows their shares
    return {
        "KinetoEvent": (theirs.profiler.kineto_results.events()[0], ours.events()[0]),
        "FunctionEvent": (theirs.events()[0], ours.events()[0]),
        "FunctionEventAvg": (averages[0], ours.key_averages()[0]),
        "EventList": (theirs.events(), ours.events()),
        "EventList of averages": (averages, ours.key_averages()),
        "_KinetoProfile": (torch.profiler._KinetoProfile(), kg._KinetoProfile()),
        "profile": (theirs, ours),
        "profile.profiler": (theirs.profiler, ours.profiler),
    }


def public_names(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


@pytest.mark.parametrize("kind", LEFT_OUT)
def test_every_name_of_pytorchs_objects_is_one_of_ours_or_left_out_for_a_reason(
    kind: str, objects: dict[str, tuple[Any, Any]]
) -> None:
    theirs, ours = objects[kind]
    left_out = {name for names in LEFT_OUT[kind].values() for name in names.split()}
    missing = public_names(theirs) - public_names(ours)
    assert missing == left_out if NEWEST else missing <= left_out


def numbers(members: Any) -> dict[str, int]:
    return {name: int(member) for name, member in members.__members__.items()}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (ActivityType, torch.profiler.ProfilerActivity),
        (ProfilerState, torch.autograd.ProfilerState),
        (RecordScope, torch._C._profiler.RecordScope),
    ],
)
def test_every_member_of_pytorchs_enum_has_its_number_here(ours: type[IntEnum], theirs: Any) -> None:
    assert numbers(theirs).items() <= numbers(ours).items()


def test_device_types_have_pytorchs_numbers() -> None:
    ours = {name.upper(): number for name, number in numbers(DeviceType).items()}
    theirs = {name.upper(): number for name, number in numbers(torch.autograd.DeviceType).items()}
    assert theirs.items() <= ours.items()


def test_activity_types_have_the_numbers_of_the_libkineto_in_pytorch() -> None:
    header = Path(torch.__file__).parent / "include/kineto/ActivityType.h"
    if not header.exists():
        pytest.skip("this PyTorch ships no libkineto headers")
    body = re.search(r"enum class ActivityType \{(.*?)ENUM_COUNT", header.read_text(), re.DOTALL)
    assert body
    theirs = {name: int(number) for name, number in re.findall(r"(\w+) = (\d+),", body[1])}
    assert theirs.items() <= numbers(KinetoActivityType).items()


@of_the_newest
def test_experimental_options_are_pytorchs_in_order_and_default_before_our_own() -> None:
    signature = torch._C._profiler._ExperimentalConfig.__init__.__doc__.partition("\n")[0]
    theirs = re.findall(r"(\w+): [\w.\[\]]+ = (\[\]|''|False)", signature)
    defaults = {"[]": (), "''": "", "False": False}
    expected = [(name, defaults[default]) for name, default in theirs]
    ours = ["cuda_graphs", "pm_sampling_metrics", "pm_sampling_interval_ns"]
    assert list(ExperimentalConfig.defaults.items())[: -len(ours)] == expected
    assert list(ExperimentalConfig.defaults)[-len(ours) :] == ours


def test_options_of_the_config_are_pytorchs_in_order() -> None:
    signature = torch.autograd.ProfilerConfig.__init__.__doc__.partition("\n")[0]
    theirs = [name for name in re.findall(r"(\w+): ", signature) if name != "self"]
    assert list(ProfilerConfig.defaults) == [*theirs, "recording", "calls", "frameworks"]


def test_pytorchs_members_are_accepted_where_ours_are() -> None:
    theirs = torch.profiler.ProfilerActivity
    assert activity_set([theirs.CPU, theirs.PrivateUse1]) == {ActivityType.CPU, ActivityType.PRIVATEUSE1}
    state = torch.autograd.ProfilerState.KINETO_GPU_FALLBACK
    assert ProfilerConfig(state).state is ProfilerState.KINETO_GPU_FALLBACK


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (ActivityType, torch.profiler.ProfilerActivity),
        (DeviceType, torch.autograd.DeviceType),
        (ProfilerState, torch.autograd.ProfilerState),
        (kg.ProfilerAction, torch.profiler.ProfilerAction),
    ],
)
def test_members_equal_pytorchs_of_their_name_and_no_others(ours: type[IntEnum], theirs: Any) -> None:
    counterparts = {name.upper(): member for name, member in theirs.__members__.items()}
    for name, member in counterparts.items():
        own = ours[name]
        assert own == member
        assert (own != member) is False
        assert [other for other in ours if other == member] == [own]


def test_filters_that_programs_write_for_pytorchs_events_and_profiles_choose_the_same_here() -> None:
    activities, device = torch.profiler.ProfilerActivity, torch.autograd.DeviceType
    with kg.profile(activities=[activities.CPU]) as profile:
        torch.ones(2)
    assert activities.CPU in profile.activities
    assert activities.CUDA not in profile.activities
    events = profile.events()
    assert [event for event in events if event.device_type == device.CPU] == list(events)
    assert all(event.device_type != device.CUDA for event in events)
    assert KinetoActivityType(0) != activities.CPU

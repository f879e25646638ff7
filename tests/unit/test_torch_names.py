"""Our enums against those of a real PyTorch: same names, same numbers, and its members are accepted."""

from __future__ import annotations

import re
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest

from kinetograph.kineto import ActivityType as KinetoActivityType
from kinetograph.session.activity import ActivityType, activity_set
from kinetograph.session.config import ExperimentalConfig, ProfilerConfig
from kinetograph.session.state import ProfilerState
from kinetograph.trace import DeviceType, RecordScope

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed here")


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

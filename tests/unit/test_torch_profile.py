"""`kg.profile` beside the real `torch.profiler.profile`: one script, run with the one and with the other."""

from __future__ import annotations

import inspect
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.torch_programs import NEWEST, of_the_newest

import kinetograph as kg
from kinetograph.session.activity_types import TYPE_NAMES, chosen_activities
from kinetograph.session.profile_options import experimental_options
from kinetograph.session.schedule import transition

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed here")

PROGRAMS = Path(__file__).parents[1] / "integration" / "programs"
IMPORT = "from torch.profiler import"

# ---- the same script


def ran(folder: Path, text: str, options: dict[str, Any]) -> dict[str, Any]:
    folder.mkdir()
    program = folder / "program.py"
    program.write_text(text)
    done = subprocess.run(
        [sys.executable, str(program), str(folder), json.dumps(options)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert all(re.fullmatch(FILE_NAME, name) for name in told["files"]), told["files"]
    told["files"] = [re.sub(r"_\d+\.\d+\.pt|\.\d+\.pt", ".N.pt", name) for name in told["files"]]
    return told


FILE_NAME = r"[\w.-]+?\.\d{19}\.pt\.trace\.json(\.gz)?"
STEPS = {"wait": 1, "warmup": 1, "active": 2}
EVERYTHING = {"record_shapes": True, "with_flops": True, "with_stack": True, "with_modules": True}


@pytest.mark.parametrize(
    "options",
    [
        {"iterations": 3},
        {"iterations": 10, "schedule": STEPS | {"repeat": 2}, "tensorboard": {"worker_name": "rank0"}},
        {"iterations": 11, "schedule": STEPS, "tensorboard": {"use_gzip": True}},
        {"iterations": 7, "schedule": STEPS | {"skip_first": 2, "skip_first_wait": 1}},
        {"iterations": 4, "schedule": {"wait": 0, "warmup": 0, "active": 1}},
        {"iterations": 3, "schedule": {"wait": 0, "warmup": 5, "active": 1}},
        {"iterations": 9, "schedule": STEPS, "raises_at": 3},
        {"iterations": 9, "schedule": STEPS, "raises_at": 1},
        {"iterations": 9, "raises_at": 1},
        {"iterations": 8, "schedule": STEPS, "acc_events": True},
        {"iterations": 8, "schedule": STEPS, "model": True, "profile": EVERYTHING},
    ],
    ids=json.dumps,
)
def test_a_script_does_the_same_with_the_import_replaced(tmp_path: Path, options: dict[str, Any]) -> None:
    text = (PROGRAMS / "scheduled_steps.py").read_text()
    assert text.count(IMPORT) == 1
    if hasattr(kg.Trace, "key_averages"):
        options = options | {"table": True}
    theirs = ran(tmp_path / "theirs", text, options)
    ours = ran(tmp_path / "ours", text.replace(IMPORT, "from kinetograph import"), options)
    if not NEWEST:  # it warns of this also where nothing is lost
        for told in (ours, theirs):
            told["warnings"] = [text for text in told["warnings"] if "clears events" not in text]
    assert ours == theirs


# ---- schedules

steps = st.integers(0, 6)


@settings(deadline=None, max_examples=300)
@given(
    wait=steps, warmup=steps, active=st.integers(1, 6), repeat=steps, skip_first=steps, skip_first_wait=steps
)
@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_schedules_are_pytorchs_step_by_step(**options: int) -> None:
    ours, theirs = kg.schedule(**options), torch.profiler.schedule(**options)
    assert [ours(step).name for step in range(60)] == [theirs(step).name for step in range(60)]


def test_a_schedule_without_warmup_warns_as_pytorchs_does() -> None:
    warned = []
    for schedule in (kg.schedule, torch.profiler.schedule):
        with pytest.warns(UserWarning, match="warmup") as caught:
            schedule(wait=0, warmup=0, active=1)
        warned.append([(str(warning.message), warning.filename) for warning in caught])
    assert warned[0] == warned[1]


@of_the_newest
def test_actions_have_pytorchs_numbers() -> None:
    ours = {action.name: action.value for action in kg.ProfilerAction}
    assert ours == {action.name: action.value for action in torch.profiler.ProfilerAction}


def test_pytorchs_schedule_can_be_given_to_our_profile() -> None:
    ready: list[int] = []
    schedule = torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=1)
    with kg.profile(schedule=schedule, on_trace_ready=lambda prof: ready.append(prof.step_num)) as prof:
        for _ in range(5):
            prof.step()
    assert ready == [3]


# PyTorch starts a trace to throw it away, and prepares none after an incorrect schedule.
OTHERWISE = {
    ("WARMUP", "NONE"): ("discard",),
    ("WARMUP", None): ("discard",),
    ("RECORD", "WARMUP"): ("stop", "prepare"),
}
DEEDS = {"prepare_trace": "prepare", "start_trace": "start", "stop_trace": "stop", "_trace_ready": "ready"}


def test_between_two_steps_happens_what_pytorch_does() -> None:
    theirs = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]).action_map
    actions = list(torch.profiler.ProfilerAction)
    for before, after in itertools.product(actions, [*actions, None]):
        names = (before.name, after.name if after else None)
        if names in (("NONE", "DEVICE_STOPPED"), ("RECORD_AND_SAVE", "DEVICE_STOPPED")):
            continue  # cannot be, in PyTorch
        called = [getattr(deed, "__name__", "warn") for deed in theirs.get((before, after), [])]
        expected = tuple(DEEDS[name] for name in called if name in DEEDS)
        ours = transition(kg.ProfilerAction[names[0]], kg.ProfilerAction[names[1]] if names[1] else None)
        assert ours == OTHERWISE.get(names, expected), names


# ---- the same signatures


def parameters(function: Callable[..., Any]) -> dict[str, Any]:
    return {
        name: (parameter.kind, parameter.default)
        for name, parameter in inspect.signature(function).parameters.items()
    }


def test_every_argument_of_pytorchs_profile_is_one_of_ours() -> None:
    assert parameters(torch.profiler.profile.__init__).items() <= parameters(kg.profile.__init__).items()


@of_the_newest
@pytest.mark.parametrize("function", ["schedule", "tensorboard_trace_handler"])
def test_functions_have_pytorchs_signature(function: str) -> None:
    assert parameters(getattr(kg, function)) == parameters(getattr(torch.profiler, function))


METHODS = [name for name in dir(torch.profiler.profile) if not name.startswith("_")]


@of_the_newest
@pytest.mark.parametrize("name", METHODS)
def test_every_public_method_of_pytorchs_profile_is_one_of_ours(name: str) -> None:
    assert parameters(getattr(kg.profile, name)) == parameters(getattr(torch.profiler.profile, name))


@pytest.mark.parametrize("names", ["CPU", "CPU CUDA", "XPU", "HPU MTIA"])
def test_the_device_is_the_one_that_pytorch_names(names: str) -> None:
    theirs = torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.__members__[name] for name in names.split()]
    )
    ours = kg.profile()
    ours.activities = {kg.ActivityType[name] for name in names.split()}  # which need not be here
    assert ours.use_device == theirs.use_device


# ---- its objects are taken


def test_pytorchs_activities_and_filters_are_accepted() -> None:
    cpu, cuda = torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA
    activities, filters = chosen_activities([cpu, {cuda: ["GPU_MEMCPY"]}])
    assert activities == {kg.ActivityType.CPU, kg.ActivityType.CUDA}
    assert filters == {kg.ActivityType.CUDA: {"GPU_MEMCPY"}}


def test_pytorchs_experimental_config_is_accepted() -> None:
    config = torch._C._profiler._ExperimentalConfig(verbose=True, enable_cuda_sync_events=True)
    prof = kg.profile(experimental_config=config)
    assert prof.experimental_config == kg.ExperimentalConfig(verbose=True, enable_cuda_sync_events=True)


def test_lists_of_pytorchs_experimental_config_are_texts() -> None:
    """Its state has them as bytes."""
    config = torch._C._profiler._ExperimentalConfig(
        profiler_metrics=["kineto__tensor_core_insts"], performance_events=["cycles"]
    )
    assert experimental_options(config) == kg.ExperimentalConfig(
        profiler_metrics=["kineto__tensor_core_insts"], performance_events=["cycles"]
    )


@of_the_newest
def test_names_of_types_are_those_that_pytorch_filters_by(tmp_path: Path) -> None:
    cpu = torch.profiler.ProfilerActivity.CPU
    for name in sorted(TYPE_NAMES[kg.ActivityType.CPU]):
        with torch.profiler.profile(activities=[{cpu: [name]}]):
            pass
    with pytest.raises(Exception, match="NONSENSE"), torch.profiler.profile(activities=[{cpu: ["NONSENSE"]}]):
        pass


def test_step_counts_are_pytorchs() -> None:
    from kinetograph.session.step_tracker import KinetoStepTracker as Ours

    theirs = torch.autograd.profiler.KinetoStepTracker
    told: list[list[int]] = []
    for tracker in (Ours, theirs):
        start = tracker.current_step()
        tracker.init_step_count("a")
        counted = [tracker.increment_step("a"), tracker.increment_step("b"), tracker.increment_step("b")]
        counted += [tracker.increment_step("a"), tracker.increment_step("a"), tracker.current_step()]
        told.append([step - start for step in counted])
        assert tracker.erase_step_count("a")
        assert tracker.erase_step_count("b")
        assert not tracker.erase_step_count("a")
    assert told[0] == told[1]


# ---- torch.distributed


def test_the_rank_is_that_of_the_process_group(tmp_path: Path) -> None:
    groups = torch.distributed
    groups.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        with kg.profile() as prof:
            pass
        theirs = torch.profiler.profile()._get_distributed_info()
    finally:
        groups.destroy_process_group()
    assert prof.trace.metadata["distributedInfo"] == json.loads(json.dumps(theirs))

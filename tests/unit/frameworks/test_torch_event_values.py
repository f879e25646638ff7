"""What events of operators tell, and how forward and backward ones are linked, beside torch.profiler's."""

from __future__ import annotations

import json
import threading
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.torch_programs import STEPS, convolution_step, of_the_newest, ours, theirs

import kinetograph as kg

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed here")

IN_THREADS = ("sin", "cos", "exp")


def test_forward_and_backward_are_linked_as_by_torch(tmp_path: Path) -> None:
    step = convolution_step()
    ours(step, tmp_path / "ours.json")
    theirs(step, tmp_path / "theirs.json")
    assert arrows(tmp_path / "ours.json") == arrows(tmp_path / "theirs.json")
    assert arrows(tmp_path / "ours.json")["aten::addmm", "AddmmBackward0"]


def three_threads_step() -> None:
    weight = torch.ones(3, requires_grad=True)
    made: dict[str, torch.Tensor] = {}
    for name in IN_THREADS:
        call = partial(lambda name: made.update({name: getattr(torch, name)(weight)}), name)
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
    torch.stack(list(made.values())).sum().backward()


def test_arrows_are_those_of_each_thread_also_in_a_file_that_is_written_again(tmp_path: Path) -> None:
    first, again = tmp_path / "first.json", tmp_path / "again.json"
    with kg.profile():
        three_threads_step()
    with kg.profile() as profile:
        three_threads_step()
    profile.export_chrome_trace(str(first))
    kg.load(first).save(again)
    for path in (first, again):
        drawn = arrows(path)
        for name in IN_THREADS:
            assert drawn[f"aten::{name}", f"{name.title()}Backward0"] == 1, drawn


def flows(events: Any) -> Counter[tuple[str, str]]:
    """From and to, by the ids that events tell."""
    told = [event for event in events if event.flow_type == 1]
    starts = {event.flow_id: event.name for event in told if event.flow_start}
    ends = {event.flow_id: event.name for event in told if not event.flow_start}
    assert starts.keys() == ends.keys()
    assert len(told) == 2 * len(starts)
    return Counter((starts[flow], ends[flow]) for flow in starts)


@of_the_newest
@pytest.mark.parametrize("suffix", ["json", "pftrace"])
@pytest.mark.parametrize("program", [*STEPS, "three threads"])
def test_events_tell_of_their_arrows_as_torchs_do(program: str, suffix: str, tmp_path: Path) -> None:
    step = STEPS[program]() if program in STEPS else three_threads_step
    all_threads = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    expected = flows(theirs(step, tmp_path / "theirs.json", experimental_config=all_threads).events())
    trace = ours(step, tmp_path / "ours.json").trace
    saved = tmp_path / f"again.{suffix}"
    trace.save(saved)
    assert flows(trace.events) == flows(kg.load(saved).events) == expected
    if suffix == "json":
        assert flows(trace.events) == arrows(saved)
    assert len(expected) >= 3


def call_with_all_sorts_of_inputs() -> None:
    ones = torch.ones(2, 3, 4, 4)
    functional = torch.nn.functional
    for number in (1, -3, 2**40, 2.5, -1.5, 1e-7, 0.1, 1e22, float("inf"), float("-inf"), float("nan"), True):
        torch.full((2, 3), number)
    torch.full((1,), 1 + 2j)
    torch.full((), 0.5)
    ones.sum(dim=[-1, -2], keepdim=True)
    ones.sum(dim=())
    ones.to(torch.bfloat16, copy=True)
    ones.permute(0, 2, 3, 1).reshape(-1, 4)
    functional.gelu(ones, approximate="tanh")
    functional.interpolate(ones, scale_factor=(1.5, 2.5), mode="bilinear")
    functional.conv2d(ones, torch.ones(5, 3, 3, 3))
    functional.dropout(ones, 0.1, training=True)
    torch.cat([ones, ones], dim=1)
    torch.div(ones, 3, rounding_mode="floor")
    torch.zeros(3, dtype=torch.int64, device="cpu")
    ones[..., 1:3]
    torch.ones(1).repeat(*[1] * 30)


def test_concrete_inputs_are_torchs_values(tmp_path: Path) -> None:
    profile = theirs(call_with_all_sorts_of_inputs, tmp_path / "theirs.json", record_shapes=True)
    expected = [
        # By its text, for nan is not itself.
        (event.name(), repr(event.concrete_inputs()))
        for event in profile.profiler.kineto_results.events()
    ]
    trace = ours(call_with_all_sorts_of_inputs, tmp_path / "ours.json", record_shapes=True).trace
    trace.save(tmp_path / "ours.pftrace")
    loaded = [kg.load(tmp_path / name) for name in ("ours.json", "ours.pftrace", "theirs.json")]
    for told in (trace, *loaded):
        operators = [event for event in told.events if event.category == "cpu_op"]
        assert [(event.name, repr(event.concrete_inputs)) for event in operators] == expected
    for value in ("nan", "-inf", "1e-07", "(1+2j)", "[1.5, 2.5]", "-3", "True", "None", "[]"):
        assert any(value in inputs for _name, inputs in expected), value


# Where ours have another value, and why.
OTHERWISE = {
    "correlation_id": "only of what leads to a device; the id of an operator is `id`",
    "device_index": "of a device; torch has the process there",
    "device_type": "ours by the same name, as `test_torch_names.py` says",
    "duration_ns": "other runs",
    "end_ns": "other runs",
    "end_thread_id": "the system's number",
    "external_id": "another count",
    "flops": "more are counted",
    "flow_id": "another count",
    "metadata_json": "the arguments, which torch leaves out",
    "sequence_nr": "goes on",
    "shapes": "lists of tensors have theirs; `input_shapes` is torch's",
    "start_ns": "other runs",
    "start_thread_id": "the system's number",
}


@of_the_newest
@pytest.mark.parametrize("program", STEPS)
def test_events_tell_what_torchs_tell(program: str, tmp_path: Path) -> None:
    step = STEPS[program]()
    options = {"record_shapes": True, "with_flops": True}
    trace = ours(step, tmp_path / "ours.json", **options).trace
    profile = theirs(step, tmp_path / "theirs.json", **options)
    their_events = [
        event
        for event in profile.profiler.kineto_results.events()
        if event.activity_type() in ("cpu_op", "user_annotation")
    ]
    our_events = [event for event in trace.events if event.category in ("cpu_op", "user_annotation")]
    names = {name for name in dir(their_events[0]) if not name.startswith("_")} - OTHERWISE.keys()
    assert {"fwd_thread_id", "flow_type", "flow_start", "concrete_inputs", "nbytes", "extra_meta"} <= names
    for their, our in zip(their_events, our_events, strict=True):
        expected = {name: getattr(their, name)() for name in names}
        assert {name: getattr(our, name) for name in names} == expected


def arrows(path: Path) -> Counter[tuple[str, str]]:
    """From and to, by the name of the innermost operator that begins where the arrow does."""
    events = json.loads(path.read_text())["traceEvents"]
    spans = [e for e in events if e.get("ph") == "X" and e.get("cat") == "cpu_op"]
    ends: dict[Any, dict[str, str]] = {}
    for event in events:
        if event.get("cat") == "fwdbwd":
            place = (event["tid"], event["ts"])
            at = [span["name"] for span in spans if (span["tid"], span["ts"]) == place]
            ends.setdefault(event["id"], {})[event["ph"]] = at[-1]
    return Counter((end["s"], end["f"]) for end in ends.values())

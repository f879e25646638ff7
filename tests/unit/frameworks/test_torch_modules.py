"""Calls of torch's modules in our traces, beside torch.profiler's own."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.integration.programs.resident import resident_bytes
from tests.torch_programs import (
    convolution_step,
    is_counted_by_us,
    modules_of,
    operators_of,
    ours,
    residual_epoch,
    theirs,
    transformer_step,
)

import kinetograph as kg
from kinetograph import _native

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed here")

PROGRAMS = {"convolution": convolution_step, "transformer": transformer_step, "residual": residual_epoch}
KINDS = ("cpu_op", "user_annotation")
EVERYTHING = {"record_shapes": True, "with_flops": True, "with_stack": True, "with_modules": True}


def nested(trace: kg.Trace) -> list[list[tuple[str, list[str], Any, Any]]]:
    """Operators and ranges of each thread, the busiest first, with those around them, shapes and types.

    Not as they stand in files: there a range that crosses the call of its `__enter__` has a row of its own.
    """
    threads: dict[int | str, list[tuple[str, list[str], Any, Any]]] = {}
    for event in trace.events:
        if event.category in KINDS:
            seen = (event.name, around(event), event.shapes, event.dtypes)
            threads.setdefault(event.thread_id, []).append(seen)
    return sorted(threads.values(), key=len, reverse=True)


def around(event: kg.Event) -> list[str]:
    names, parent = [], event.parent
    while parent is not None:
        if parent.category in KINDS:
            names.append(parent.name)
        parent = parent.parent
    return names


def module_calls(trace: kg.Trace) -> list[str]:
    """Each behind the modules around it."""
    return [
        "/".join([*event.module_hierarchy, event.name.removeprefix("nn.Module: ")])
        for event in trace.events
        if event.name.startswith("nn.Module: ")
    ]


@pytest.mark.parametrize(
    "options",
    [{"with_stack": True}, {"with_modules": True}, {"with_stack": True, "with_modules": True}],
    ids=" ".join,
)
@pytest.mark.parametrize("program", PROGRAMS)
def test_modules_and_the_operators_in_them_are_torchs(
    program: str, options: dict[str, bool], tmp_path: Path
) -> None:
    """In name, number, order and nesting; torch has them with stacks only."""
    work = PROGRAMS[program]()
    ours(work, tmp_path / "ours.json", **options)
    theirs(work, tmp_path / "theirs.json", with_stack=True)
    our_threads, their_threads = (modules_of(tmp_path / name) for name in ("ours.json", "theirs.json"))
    assert our_threads[0] == their_threads[0]
    assert any(number is not None and number > 0 for _depth, _name, number in our_threads[0]) == (
        program != "convolution"
    )


def test_modules_alone_are_the_only_calls(tmp_path: Path) -> None:
    profile = ours(transformer_step(), tmp_path / "ours.json", with_modules=True)
    calls = {event.name for event in profile.events() if event.is_python_function}
    assert calls
    assert all(name.startswith("nn.Module: ") for name in calls)
    assert not {note.kind for note in profile.trace.notes} & {"missing", "unbalanced", "partial", "torch"}


def test_a_call_of_a_module_tells_what_torch_tells_of_it(tmp_path: Path) -> None:
    step = convolution_step()
    ours(step, tmp_path / "ours.json", with_stack=True)
    theirs(step, tmp_path / "theirs.json", with_stack=True)
    told = []
    for name in ("ours.json", "theirs.json"):
        events = json.loads((tmp_path / name).read_text())["traceEvents"]
        module = next(event for event in events if event["name"] == "nn.Module: Linear_0")
        told.append((module["cat"], module["ph"], set(module["args"]) - {"Ev Idx"}))
    assert told[0] == told[1]


@pytest.mark.parametrize("program", PROGRAMS)
def test_operators_are_the_same_with_everything_asked_for(program: str, tmp_path: Path) -> None:
    """In name, order, nesting, thread, shapes, and in FLOPs."""
    work = PROGRAMS[program]()
    profiles = [
        ours(work, tmp_path / "ours.json", **EVERYTHING),
        theirs(work, tmp_path / "theirs.json", **EVERYTHING),
    ]
    our_operators, their_operators = nested(profiles[0].trace), nested(kg.load(tmp_path / "theirs.json"))
    assert our_operators == their_operators
    assert len(our_operators[0]) > 100
    counted = [event for event in profiles[0].events() if event.flops and not is_counted_by_us(event.name)]
    in_torch = profiles[1].profiler.kineto_results.events()
    assert sorted((event.name, event.flops) for event in counted) == sorted(
        (event.name(), event.flops()) for event in in_torch if event.flops()
    )


def test_the_table_has_torchs_rows_and_columns_with_everything_asked_for(tmp_path: Path) -> None:
    work = residual_epoch()
    profiles = [
        ours(work, tmp_path / "ours.json", **EVERYTHING),
        theirs(work, tmp_path / "theirs.json", **EVERYTHING),
    ]
    operators = {op.name for op in operators_of(tmp_path / "theirs.json")[0]}
    rows, columns = [], []
    for profile in profiles:
        averages = profile.key_averages(group_by_input_shape=True)
        rows.append(
            Counter(
                (row.key, str(row.input_shapes), row.count, 0 if is_counted_by_us(row.key) else row.flops)
                for row in averages
                if row.key in operators
            )
        )
        header = averages.table(row_limit=5).splitlines()[1]
        columns.append([name.strip() for name in header.split("  ") if name.strip()])
    assert rows[0] == rows[1]
    assert columns[0] == columns[1]


def test_ranges_of_optimizers_and_loaders_are_torchs(tmp_path: Path) -> None:
    data = torch.utils.data.TensorDataset(torch.arange(8.0))
    step = convolution_step()

    def work() -> None:
        for (batch,) in torch.utils.data.DataLoader(data, batch_size=4):
            batch.sum()
        step()

    seen = []
    for record, name in ((ours, "ours.json"), (theirs, "theirs.json")):
        record(work, tmp_path / name, with_modules=True)
        seen.append(Counter(op.name for op in operators_of(tmp_path / name)[0] if "#" in op.name))
    assert seen[0] == seen[1]
    assert seen[0] == {
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__": 6,
        "Optimizer.zero_grad#SGD.zero_grad": 2,
        "Optimizer.step#SGD.step": 2,
    }


def test_operators_know_their_modules() -> None:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    with kg.profile(with_modules=True) as profile:
        model(torch.randn(2, 4)).sum().backward()
    products = [event.module_hierarchy for event in profile.events() if event.name == "aten::addmm"]
    assert products == [["Sequential_0", "Linear_0"], ["Sequential_0", "Sequential_1", "Linear_1"]]
    rows = profile.key_averages(group_by_stack_n=1)
    assert sorted(row.stack for row in rows if row.key == "aten::addmm") == [
        ("nn.Module: Linear_0",),
        ("nn.Module: Linear_1",),
    ]


def test_modules_in_torchscript_are_told_as_by_torch(tmp_path: Path) -> None:
    linear = torch.nn.Linear(4, 4)
    scripted = torch.jit.script(torch.nn.Sequential(linear, torch.nn.Sequential(torch.nn.ReLU())))
    numbers = torch.randn(2, 4)
    scripted(numbers)
    scripted(numbers)
    hierarchies = []
    for record, name in ((ours, "ours.json"), (theirs, "theirs.json")):
        record(lambda: scripted(numbers), tmp_path / name, with_modules=True)
        events = json.loads((tmp_path / name).read_text())["traceEvents"]
        spans = [event for event in events if event.get("cat") == "cpu_op"]
        hierarchies.append(Counter((e["name"], e["args"].get("Module Hierarchy")) for e in spans))
    assert hierarchies[0] == hierarchies[1]
    assert any(hierarchy for _name, hierarchy in hierarchies[0])


def test_a_compiled_module_is_seen_as_by_torch(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    compiled = torch.compile(model, backend="eager")
    numbers = torch.randn(2, 4)
    compiled(numbers)
    ours(lambda: compiled(numbers), tmp_path / "ours.json", with_stack=True)
    theirs(lambda: compiled(numbers), tmp_path / "theirs.json", with_stack=True)
    names = [
        [name for _depth, name, number in modules_of(tmp_path / file)[0] if number is not None]
        for file in ("ours.json", "theirs.json")
    ]
    assert names[0] == names[1] == ["nn.Module: OptimizedModule_0"] * 2


def test_modules_of_all_threads_are_seen() -> None:
    """As DataParallel calls them: a copy for each thread."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    copies = torch.nn.ModuleList([model, model])
    numbers = torch.randn(2, 4)
    with kg.profile(with_modules=True) as profile:
        threads = [threading.Thread(target=part, args=(numbers,)) for part in copies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    calls = Counter(module_calls(profile.trace))
    assert calls == {"Sequential_0": 2, "Sequential_0/Linear_0": 2, "Sequential_0/ReLU_0": 2}
    tids = {event.thread_id for event in profile.events() if event.is_python_function}
    assert tids == {thread.native_id for thread in threads}


def test_a_module_that_fails_ends_like_any_other() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4))
    with kg.profile(with_modules=True) as profile:
        with pytest.raises(RuntimeError):
            model(torch.randn(2, 3))
        model(torch.randn(2, 4))
    assert module_calls(profile.trace) == ["Sequential_0", "Sequential_0/Linear_0"] * 2
    assert all(event.finished for event in profile.events())


def test_neither_tensors_nor_modules_live_longer_for_being_recorded() -> None:
    alive: weakref.WeakSet[Any] = weakref.WeakSet()
    with kg.profile(**EVERYTHING):
        for _ in range(20):
            module = torch.nn.Linear(4, 4)
            result = module(torch.randn(2, 4))
            for thing in (module, result):
                alive.add(thing)
        del module, result, thing
        gc.collect()
        assert len(alive) == 0


def test_memory_stays_where_it_is_over_a_thousand_steps() -> None:
    """Each step makes 4 MiB of tensors: what is kept of one in a hundred would show."""
    model = torch.nn.Linear(4, 4)

    def step() -> None:
        model(torch.zeros(1 << 18, 4))

    with kg.profile(**EVERYTHING):
        for _ in range(100):
            step()
        resident, recorded = resident_bytes(), _native.memory_bytes()
        for _ in range(1000):
            step()
        grown = resident_bytes() - resident - (_native.memory_bytes() - recorded)
    assert grown < 32 << 20

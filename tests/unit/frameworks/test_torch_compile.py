"""What torch.compile does, in our traces beside torch.profiler's own."""

from __future__ import annotations

import asyncio
import contextvars
import json
import subprocess
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from tests.execution_traces import Graph, loaded
from tests.torch_programs import Seen, operators_of

import kinetograph as kg
from kinetograph.frameworks.torch import operators
from kinetograph.frameworks.torch.build import found_compiler

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed here")

KERNEL = {
    "kernel_file": "/cache/c5/cabc.py",
    "kernel_hash": "c5abc",
    "kernel_backend": "triton",
    "grid": "(4, 1, 1)",
    "stream": 7,
    "num_warps": 4,
    "is_fast": True,
    "kernel_num_gb": 0.25,
}


@pytest.fixture(autouse=True, scope="module")
def _one_cache_of_inductor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        yield


@pytest.fixture(autouse=True)
def _compiled_anew() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def wave(x: Any) -> Any:
    return (x.sin() + x).sum()


def ours(step: Callable[[], object], path: Path, **options: Any) -> list[Seen]:
    with kg.profile(**options) as profile:
        step()
    assert "unbalanced" not in {note.kind for note in profile.trace.notes}
    profile.export_chrome_trace(str(path))
    return operators_of(path)[0]


def theirs(step: Callable[[], object], path: Path, **options: Any) -> list[Seen]:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], **options) as profile:
        step()
    profile.export_chrome_trace(str(path))
    return operators_of(path)[0]


def range_of_torch(name: str, *details: Any) -> Any:
    """As torch makes one: looked up each time."""
    return torch._C._profiler._RecordFunctionFast(name, *details)


@pytest.mark.parametrize("with_shapes", [False, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_regions_equal_those_of_torchs_profiler(
    backend: str, with_shapes: bool, tmp_path: Path
) -> None:
    compiled = torch.compile(wave, backend=backend)
    one = torch.ones(4)
    compiled(one)
    seen = ours(lambda: compiled(one), tmp_path / "ours.json", record_shapes=with_shapes)
    assert seen == theirs(lambda: compiled(one), tmp_path / "theirs.json", record_shapes=with_shapes)
    names = [op.name for op in seen]
    assert "Torch-Compiled Region: 0/0" in names
    assert "Pregraph bytecode" in names


def test_a_compiled_backward_pass_equals_that_of_torchs_profiler(tmp_path: Path) -> None:
    # Torch runs it in a copy of the context.
    compiled = torch.compile(wave, backend="aot_eager")
    one = torch.ones(4, requires_grad=True)
    compiled(one).backward()
    seen = ours(lambda: compiled(one).backward(), tmp_path / "ours.json")
    expected = theirs(lambda: compiled(one).backward(), tmp_path / "theirs.json")
    assert [(op.depth, op.name) for op in seen] == [(op.depth, op.name) for op in expected]
    assert "CompiledFunctionBackward" in {op.name for op in seen}


def test_ranges_in_a_copy_of_the_context_lie_in_the_operator_that_runs_them() -> None:
    def within() -> None:
        with range_of_torch("outer"):
            with range_of_torch("inner", (), {"grid": "(1, 1, 1)"}):
                torch.ones(1)
            with kg.scope("of the program"):
                torch.ones(2)

    class Copying(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            contextvars.copy_context().run(within)
            return gradient

    one = torch.ones(4, requires_grad=True)
    with kg.profile() as profile, kg.scope("step"):
        Copying.apply(one).sum().backward()
    assert [note.text for note in profile.trace.notes if note.kind == "unbalanced"] == []
    parents = {event.name: event.parent.name for event in profile.trace.events if event.parent}
    assert parents["outer"] == "CopyingBackward"
    assert parents["inner"] == "outer"
    assert "of the program" not in parents  # a context of its own is a lane of its own
    assert all(event.finished for event in profile.trace.events)


def test_a_range_of_a_task_lies_in_the_scope_of_that_task() -> None:
    async def task(name: str) -> None:
        with kg.scope(name):
            await asyncio.sleep(0)
            with range_of_torch(f"range of {name}"):
                torch.ones(1)
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(*(task(name) for name in ("a", "b", "c")))

    with kg.profile() as profile:
        torch.ones(1)
        asyncio.run(main())
    parents = {event.name: event.parent.name for event in profile.trace.events if event.parent}
    assert {name: parents[f"range of {name}"] for name in "abc"} == {name: name for name in "abc"}


def test_sizes_that_are_symbols_have_no_flops_and_are_not_bound_by_us() -> None:
    """Whoever asks for one while a graph is traced binds that to it: it is compiled again for each size."""
    counters = torch._dynamo.utils.counters
    counters.clear()
    compiled = torch.compile(lambda a, b: (a @ b).sum(), backend="aot_eager", dynamic=True)
    with kg.profile(with_flops=True, record_shapes=True) as profile:
        for size in (5, 6, 7):
            left = torch.randn(size, 4)
            torch._dynamo.mark_dynamic(left, 0)
            compiled(left, torch.randn(4, 3))
    assert counters["stats"]["unique_graphs"] == 1
    flops = {event.flops for event in profile.events() if event.name == "aten::mm" and event.flops}
    assert flops == {2 * size * 4 * 3 for size in (5, 6, 7)}


def test_inputs_of_a_launch_equal_those_of_torchs_profiler(tmp_path: Path) -> None:
    one = torch.ones(2, 3)

    def launch() -> None:
        with range_of_torch("a launch", (one, 2.0, -3.0, 1e-5, 0.5, 1e300, 7, True), {"num_warps": 4}):
            pass

    seen = ours(launch, tmp_path / "ours.json", record_shapes=True)
    assert seen == theirs(launch, tmp_path / "theirs.json", record_shapes=True)
    files = (json.loads((tmp_path / name).read_text()) for name in ("ours.json", "theirs.json"))
    told = [[row["args"] for row in file["traceEvents"] if row["name"] == "a launch"] for file in files]
    assert [row["Concrete Inputs"] for row in told[0]] == [row["Concrete Inputs"] for row in told[1]] != []


TENSOR = torch.ones(2, 3)
INPUTS = {
    "numbers": [3, 2.5, -0.0, True, float("inf"), float("nan"), 1 + 2j],
    "others": [None, "text", 'te"xt', torch.float32, torch.device("cpu"), torch.strided, torch.Generator()],
    "lists": [[1, 2], [1.5, 2.0], [True, False], [1j, 2j], [1] * 30, [1] * 31, ["text"], [None]],
    "no list that torch knows": [[], [1, 2.5], [TENSOR, 1], 7],
    "nothing that torch knows": [object(), torch.contiguous_format, 7],
    "containers": [(1, 2), (TENSOR, TENSOR), torch.Size([1, 2]), {"a": 1}, [[1, 2], [3]], ()],
    "tensors": [TENSOR, torch.nn.Parameter(TENSOR), torch.tensor(2.0), TENSOR.to_sparse(), TENSOR.t()],
    "lists of tensors": [[TENSOR, TENSOR.t()], [TENSOR] * 30, [TENSOR] * 31],
}


@pytest.mark.parametrize("inputs", INPUTS.values(), ids=INPUTS)
@pytest.mark.parametrize("keywords", [KERNEL, {"scope": "user_scope"}], ids=["kernel", "graph"])
def test_whatever_a_range_is_called_with_is_told_as_by_torchs_profiler(
    inputs: list[Any], keywords: dict[str, Any], tmp_path: Path
) -> None:
    def launch() -> None:
        with range_of_torch("a launch", inputs, keywords):
            pass

    ours(launch, tmp_path / "ours.json", record_shapes=True)
    theirs(launch, tmp_path / "theirs.json", record_shapes=True)
    files = (json.loads((tmp_path / name).read_text()) for name in ("ours.json", "theirs.json"))
    keys = ("Input Dims", "Input Strides", "Input type", "Concrete Inputs", *keywords)
    seen, expected = (
        [
            (row["cat"], {key: row["args"].get(key) for key in keys})
            for row in file["traceEvents"]
            if row["name"] == "a launch"
        ]
        for file in files
    )
    assert seen == expected
    assert len(seen) == 1


@pytest.mark.parametrize("options", [{}, {"record_shapes": True}], ids=["names", "shapes"])
def test_a_range_that_is_kept_ends_where_it_is_left(options: dict[str, bool], tmp_path: Path) -> None:
    """Also where nodes are traced, for which torch's own is entered."""
    observer = kg.ExecutionTraceObserver().register_callback(tmp_path / "graph.json")
    for traced in (None, observer):
        with kg.profile(execution_trace_observer=traced, **options) as profile:
            kept = range_of_torch("kept", [TENSOR], KERNEL)
            for _ in range(2):
                with kept:
                    torch.ones(1)
                torch.zeros(1)
        parents = [event.parent for event in profile.events() if event.name == "aten::zeros"]
        assert parents == [None, None]
        assert [event.name for event in profile.events()].count("kept") == 2
    observer.unregister_callback()


@pytest.mark.parametrize("value", [2**70, [torch.float32]], ids=["number", "list"])
def test_what_torch_cannot_take_is_no_error_of_the_program(value: Any) -> None:
    """It is, under torch's profiler."""
    with kg.profile(record_shapes=True) as profile, range_of_torch("a launch", [value], KERNEL):
        torch.ones(1)
    (event,) = (event for event in profile.events() if event.name == "a launch")
    assert event.finished
    assert "aten::ones" in [child.name for child in event.children]


def test_stages_of_a_compilation_equal_those_of_torchs_profiler(tmp_path: Path) -> None:
    one = torch.ones(4)

    def compile_anew() -> None:
        torch._dynamo.reset()
        torch.compile(wave, backend="aot_eager")(one)

    compile_anew()
    ours(compile_anew, tmp_path / "ours.json")
    theirs(compile_anew, tmp_path / "theirs.json")
    # Torch ends a few in another order than it began them: ours has a row for these.
    our_rows, their_rows = (operators_of(tmp_path / name) for name in ("ours.json", "theirs.json"))
    counted = [Counter((op.category, op.name) for op in chain(*rows)) for rows in (our_rows, their_rows)]
    assert counted[0] == counted[1]
    stages = [
        [(op.depth, op.name) for op in rows[0] if op.name.endswith("(dynamo_timed)")]
        for rows in (our_rows, their_rows)
    ]
    assert stages[0] == stages[1]
    assert (2, "_compile.compile_inner (dynamo_timed)") in stages[0]


def test_recompilations_say_of_what_and_why() -> None:
    compiled = torch.compile(wave, backend="eager")
    with kg.profile() as profile:
        compiled(torch.ones(4))
        compiled(torch.ones(4))
        compiled(torch.ones(5))
        compiled(torch.ones(2, 2))
    compilations = [e.args for e in profile.events() if e.name.startswith("_compile.compile_inner")]
    assert [args["compile_id"] for args in compilations] == ["0/0", "0/1", "0/2"]
    assert {(args["function"], args["file"]) for args in compilations} == {("wave", __file__)}
    assert {args["line"] for args in compilations} == {wave.__code__.co_firstlineno}
    assert "recompile_reason" not in compilations[0]
    assert "size mismatch at index 0. expected 4, actual 5" in compilations[1]["recompile_reason"]
    assert "rank mismatch" in compilations[2]["recompile_reason"]


def test_a_compilation_that_fails_is_told_with_what_failed() -> None:
    def refuse(*_arguments: object) -> Any:
        raise ValueError("no such graph")

    with kg.profile() as profile, pytest.raises(Exception, match="no such graph"):
        torch.compile(wave, backend=refuse)(torch.ones(4))
    (compilation,) = (e for e in profile.events() if e.name.startswith("_compile.compile_inner"))
    assert compilation.finished
    assert compilation.args["function"] == "wave"
    assert "no such graph" in compilation.args["fail_reason"]


def test_launches_of_kernels_are_told_as_by_torchs_profiler(tmp_path: Path) -> None:
    """In the form in which Inductor tells of a kernel of Triton's that it launches."""
    arguments = (torch.ones(4, 2), torch.ones(3, dtype=torch.bfloat16), 8, 1.5, True)

    def launch() -> None:
        kernel = range_of_torch("triton_poi_fused_add_0", arguments, KERNEL)
        with range_of_torch("graph", [], {"scope": "user_scope"}), kernel:
            torch.ones(1)

    seen = ours(launch, tmp_path / "ours.json", record_shapes=True)
    assert seen == theirs(launch, tmp_path / "theirs.json", record_shapes=True)
    assert [(op.name, op.category) for op in seen[:2]] == [
        ("graph", "user_annotation"),
        ("triton_poi_fused_add_0", "cpu_op"),
    ]
    assert KERNEL.items() <= seen[1].args.items()


def test_the_file_of_a_kernel_is_told_without_shapes(tmp_path: Path) -> None:
    def launch() -> None:
        with range_of_torch("kernel", (torch.ones(4),), KERNEL):
            pass

    assert ours(launch, tmp_path / "ours.json")[-1].args == KERNEL


def test_beside_torchs_profiler_a_range_is_one_event_in_each(tmp_path: Path) -> None:
    with kg.profile() as profile:
        with range_of_torch("alone"):
            pass
        seen = theirs(lambda: range_of_torch("both").__enter__(), tmp_path / "theirs.json")
    names = [event.name for event in profile.events()]
    assert (names.count("alone"), names.count("both")) == (1, 1)
    assert [op.name for op in seen] == ["both"]


def test_after_the_last_session_torch_has_its_own_again() -> None:
    before = torch._C._profiler._RecordFunctionFast
    with kg.profile():
        with kg.profile():
            assert torch._C._profiler._RecordFunctionFast is not before
        assert torch._C._profiler._RecordFunctionFast is not before
    assert torch._C._profiler._RecordFunctionFast is before


def test_a_range_that_somebody_puts_over_ours_stays() -> None:
    before = torch._C._profiler._RecordFunctionFast
    theirs = type("Theirs", (), {})
    with kg.profile():
        torch._C._profiler._RecordFunctionFast = theirs
    try:
        assert torch._C._profiler._RecordFunctionFast is theirs
    finally:
        torch._C._profiler._RecordFunctionFast = before


def test_ranges_outlive_the_session_they_were_made_in() -> None:
    with kg.profile():
        kept = range_of_torch("kept")
    with kept:
        pass
    with kg.profile() as profile, kept:
        pass
    assert [event.name for event in profile.events()] == ["kept"]


def test_a_name_that_is_none_is_refused() -> None:
    """Torch's own ends the process then."""
    with kg.profile(), pytest.raises(TypeError, match="a name of type str, got 3"):
        torch._C._profiler._RecordFunctionFast(3)


def test_threads_have_ranges_of_their_own() -> None:
    def work() -> None:
        for _ in range(100):
            with range_of_torch("outer", [], KERNEL), range_of_torch("inner"):
                pass

    with kg.profile() as profile:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    around = [event.parent for event in profile.events() if event.name == "inner"]
    assert [event.name for event in around if event] == ["outer"] * 400


def test_a_torch_without_such_ranges_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operators, "_ranges", None)
    monkeypatch.delattr(torch._C._profiler, "_RecordFunctionFast")
    with kg.profile() as profile:
        torch.ones(1)
    assert [note.text for note in profile.trace.notes if note.kind == "torch"] == [
        f"ranges of torch.compile are not recorded: torch {torch.__version__} has no "
        "torch._C._profiler._RecordFunctionFast"
    ]
    assert "aten::ones" in [event.name for event in profile.events()]


@pytest.mark.slow
@pytest.mark.skipif(found_compiler() is None, reason="Inductor needs a C++ compiler")
def test_graphs_of_inductor_equal_those_of_torchs_profiler(tmp_path: Path) -> None:
    compiled = torch.compile(wave, backend="inductor")
    one = torch.ones(4)
    import torch._inductor.config as inductor

    with inductor.patch(compile_threads=1):  # others would stay for the next compilation
        compiled(one)
    compiled(one)
    seen = ours(lambda: compiled(one), tmp_path / "ours.json", record_shapes=True)
    assert seen == theirs(lambda: compiled(one), tmp_path / "theirs.json", record_shapes=True)
    assert any(op.name.startswith("## Call CompiledFxGraph") for op in seen)


@pytest.mark.slow
@pytest.mark.skipif(found_compiler() is None, reason="Inductor needs a C++ compiler")
def test_graphs_of_a_backward_pass_lie_on_the_lane_of_the_operator_that_runs_them(tmp_path: Path) -> None:
    compiled = torch.compile(wave, backend="inductor")
    one = torch.ones(4, requires_grad=True)
    import torch._inductor.config as inductor

    with inductor.patch(compile_threads=1):  # others would stay for the next compilation
        compiled(one).backward()
    compiled(one).backward()
    with kg.profile() as profile, kg.scope("step"):
        compiled(one).backward()
    parents = {event.name: event.parent for event in profile.trace.events}
    graphs = [parent for name, parent in parents.items() if name.startswith("## Call CompiledFxGraph")]
    assert "CompiledFunctionBackward" in [graph and graph.name for graph in graphs]
    assert len({event.track for event in profile.trace.events}) == 1
    seen = ours(lambda: compiled(one).backward(), tmp_path / "ours.json")
    expected = theirs(lambda: compiled(one).backward(), tmp_path / "theirs.json")
    assert [(op.depth, op.name) for op in seen] == [(op.depth, op.name) for op in expected]


def test_every_session_puts_the_same_class_in_place() -> None:
    """Compiled code that uses it is compiled again for another, and after eight times no more."""
    seen = []
    for _ in range(2):
        with kg.profile():
            seen.append(torch._C._profiler._RecordFunctionFast)
    assert seen[0] is seen[1] is not torch._C._profiler._RecordFunctionFast


def test_what_a_launch_tells_keeps_no_tensor() -> None:
    tensor = torch.ones(2)
    alive = weakref.ref(tensor)
    with kg.profile():
        with torch._C._profiler._RecordFunctionFast("kernel", [], {"argument": tensor}):
            pass
        del tensor
        assert alive() is None


def test_calls_go_on_when_code_is_compiled_in_a_thread_while_another_is_in_compiled_code() -> None:
    """On 3.11 torch.compile then puts its hook over ours, which is over it: frames may not go round."""
    done = subprocess.run(
        [sys.executable, "-c", COMPILED_IN_TWO_THREADS], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, "[100, 100]\n"), done.stderr


COMPILED_IN_TWO_THREADS = """
import threading, torch, kinetograph as kg

@torch.compile(backend="eager")
def compiled(x):
    return x + 1

@torch.compile(backend="eager")
def waits(x):
    x = x + 1
    is_inside.set()
    may_leave.wait()
    return x + 1

def tiny(): pass

is_inside, may_leave = threading.Event(), threading.Event()
one = torch.ones(4)
compiled(one)
other = threading.Thread(target=waits, args=(one,))
other.start()
is_inside.wait()
counts = []
for _ in range(2):
    with kg.profile(with_stack=True, activities=[kg.ProfilerActivity.CPU]) as p:
        compiled(one)
        for _ in range(100):
            tiny()
        compiled(one)
    counts.append(sum(event.name.endswith(": tiny") for event in p.trace.events))
may_leave.set()
other.join()
print(counts)
"""


@pytest.mark.slow
@pytest.mark.skipif(found_compiler() is None, reason="Inductor needs a C++ compiler")
def test_an_execution_trace_has_the_nodes_of_compiled_code_that_torch_has_under_its_profiler(
    tmp_path: Path,
) -> None:
    from torch._inductor import config as inductor

    compiled = torch.compile(wave, backend="inductor")
    x = torch.ones(64)
    with inductor.patch(compile_threads=1):  # others would stay for the next compilation
        compiled(x)
    compiled(x)
    observers = kg.ExecutionTraceObserver(), torch.profiler.ExecutionTraceObserver()
    for observer, profiler, name in zip(observers, (kg, torch.profiler), ("ours", "theirs"), strict=True):
        observer.register_callback(str(tmp_path / f"{name}.json"))
        with profiler.profile(execution_trace_observer=observer):
            compiled(x)
    ours, theirs = (Graph(loaded(tmp_path / f"{name}.json")).names() for name in ("ours", "theirs"))
    assert sorted(ours) == sorted(theirs)
    assert any(name.startswith("## Call CompiledFxGraph") for name in ours)

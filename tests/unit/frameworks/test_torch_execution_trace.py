"""Execution traces of a real PyTorch, ours beside those of torch's own observer."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from tests.agents import wait_until
from tests.execution_traces import Graph, attributes, loaded, same_nodes
from tests.torch_programs import convolution_step, transformer_step

import kinetograph as kg
from kinetograph.export.execution_trace import ExecutionTraceFile

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed here")


def traced(run: Callable[[], object], path: Path) -> Graph:
    observer = kg.ExecutionTraceObserver().register_callback(path)
    observer.start()
    run()
    observer.unregister_callback()
    graph = Graph(loaded(path))
    graph.check()
    return graph


def traced_by_both(run: Callable[[], object], folder: Path) -> tuple[Graph, Graph]:
    ours = kg.ExecutionTraceObserver().register_callback(folder / "ours.json")
    theirs = torch.profiler.ExecutionTraceObserver().register_callback(str(folder / "theirs.json"))
    theirs.start()
    ours.start()
    run()
    ours.stop()
    theirs.stop()
    ours.unregister_callback()
    theirs.unregister_callback()
    graphs = Graph(loaded(folder / "ours.json")), Graph(loaded(folder / "theirs.json"))
    graphs[0].check()
    return graphs


def training(make_step: Callable[[], Callable[[], None]]) -> Callable[[], None]:
    step = make_step()

    def run() -> None:
        step()
        step()

    return run


def threads_at_once() -> None:
    """Each with a backward pass; one of them through what another thread has computed."""
    weight = torch.ones(3, requires_grad=True)
    outcome = [(weight * 2).sum()]

    def work() -> None:
        with torch.profiler.record_function("work"):
            (torch.ones(3, requires_grad=True) * 3).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(3)]
    threads.append(threading.Thread(target=lambda: outcome[0].backward()))
    with torch.profiler.record_function("around"):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def all_kinds_of_values() -> None:
    torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(3, 4))
    torch.cat([torch.ones(2), torch.ones(2, dtype=torch.int64)])
    torch.ones(2, 3).to_sparse()
    torch.ones(3).to_mkldnn()
    torch.empty(2, device="meta")
    torch.split(torch.ones(10)[2:6], 2)
    torch.normal(0.0, 1.5e-3, (2,), generator=torch.Generator())
    torch.nn.functional.gelu(torch.ones(2), approximate="tanh")
    torch.full((2,), float("nan"))
    torch.full((2,), float("-inf"))
    torch.full((2,), 1 + 2j)
    torch.empty((1,) * 60)
    torch.ones(4)[torch.tensor([0, 1])]
    torch.empty(2, dtype=torch.bfloat16).half().to(torch.bool)
    torch.nn.Conv2d(1, 1, 1, bias=False)(torch.ones(1, 1, 2, 2)).sum().backward()
    with torch.profiler.record_function("named", 'with "quotes" and \\'):
        torch.ones(1).item()


def kernels_called_on_a_stack() -> None:
    """There, the values of callers lie below those of a kernel."""
    torch.func.grad(lambda x: (x * x).sum())(torch.ones(3))
    torch.func.jacrev(torch.sin)(torch.ones(3))


PROGRAMS: dict[str, Callable[[], Callable[[], None]]] = {
    "convolution": lambda: training(convolution_step),
    "transformer": lambda: training(transformer_step),
    "threads": lambda: threads_at_once,
    "values": lambda: all_kinds_of_values,
    "stack": lambda: kernels_called_on_a_stack,
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_nodes_equal_those_of_torchs_observer(program: str, tmp_path: Path) -> None:
    """In name, parent, shapes, types, strides, values and attributes, of one run that both saw."""
    run = PROGRAMS[program]()
    ours, theirs = traced_by_both(run, tmp_path)
    assert same_nodes(ours, theirs) > 20
    assert sorted(ours.names()) == sorted(theirs.names())


def test_the_document_has_the_members_of_torchs(tmp_path: Path) -> None:
    traced_by_both(lambda: torch.ones(2), tmp_path)
    ours, theirs = loaded(tmp_path / "ours.json"), loaded(tmp_path / "theirs.json")
    assert ours.keys() == theirs.keys()
    assert ours["schema"] == theirs["schema"]
    assert ours["pid"] == os.getpid()
    assert ours["start_ts"] <= ours["finish_ts"]
    assert abs(ours["start_ts"] - theirs["start_ts"]) < 60_000


def test_a_kernel_tells_its_backend_file_and_stream_as_torchs(tmp_path: Path) -> None:
    told = {"kernel_backend": "triton", "kernel_file": "/cache/made.py", "stream": 3, "grid": "grid(1,)"}

    def launch() -> None:
        with (
            torch.profiler.profile(record_shapes=True),
            torch._C._profiler._RecordFunctionFast("triton_add", [torch.ones(2), 3], told),
        ):
            pass

    ours, theirs = traced_by_both(launch, tmp_path)
    same_nodes(ours, theirs)
    assert attributes(ours.named("triton_add"))["kernel_file"] == "made.py"


@pytest.mark.parametrize("record_shapes", [False, True])
def test_launches_of_triton_are_nodes_without_torchs_profiler(tmp_path: Path, record_shapes: bool) -> None:
    told = {"kernel_backend": "triton", "kernel_file": "made.py", "stream": 3, "grid": "grid(1,)"}
    observer = kg.ExecutionTraceObserver().register_callback(str(tmp_path / "ours.json"))
    with kg.profile(execution_trace_observer=observer, record_shapes=record_shapes) as profile:
        launch = torch._C._profiler._RecordFunctionFast
        with launch("triton_add", [torch.ones(2), 3], told):
            assert not torch._C._autograd._profiler_enabled()
            torch.ones(3)
    graph = Graph(loaded(tmp_path / "ours.json"))
    node = graph.named("triton_add")
    assert attributes(node)["kernel_backend"] == "triton"
    assert attributes(node)["kernel_file"] == "made.py"
    assert node["inputs"]["shapes"][:2] == [[2], []]
    parents = [graph.parent(each)["name"] for each in graph.nodes if each["name"] == "aten::ones"]
    assert "triton_add" in parents
    (event,) = (event for event in profile.events() if event.name == "triton_add")
    assert event.args["kernel_file"] == "made.py"
    assert bool(event.shapes) == record_shapes
    assert event.record_function_id == attributes(node)["rf_id"]


def test_ranges_become_nodes_only_while_an_execution_trace_runs(tmp_path: Path) -> None:
    observer = kg.ExecutionTraceObserver().register_callback(str(tmp_path / "ours.json"))
    with kg.profile() as profile:
        for name in ("before", "within", "after"):
            (observer.start if name == "within" else observer.stop)()
            with torch._C._profiler._RecordFunctionFast(name):
                pass
    observer.unregister_callback()
    names = Graph(loaded(tmp_path / "ours.json")).names()
    assert [name for name in names if name in ("before", "within", "after")] == ["within"]
    assert [event.name for event in profile.events()] == ["before", "within", "after"]


def test_ranges_of_integral_tensors_are_those_of_torchs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_RANGE", "1")
    ours, theirs = traced_by_both(lambda: torch.ones(5, 2)[torch.tensor([4, 1, 2])], tmp_path)
    same_nodes(ours, theirs)
    assert attributes(ours.named("aten::index"))["tensor_range"] == '{"1":[1,4]}'


def test_process_groups_are_told_as_by_torch(tmp_path: Path) -> None:
    if not torch.distributed.is_available():
        pytest.skip("this torch has no distributed part")
    torch.distributed.init_process_group("gloo", rank=0, world_size=1, init_method=f"file://{tmp_path}/store")
    try:
        ours, theirs = traced_by_both(lambda: torch.distributed.all_reduce(torch.ones(4)), tmp_path)
    finally:
        torch.distributed.destroy_process_group()
    # Each of the two says it when it starts, and the second is heard by both.
    told = [graph.named("## process_group:init ##")["inputs"] for graph in (ours,)]
    assert told[0] in [node["inputs"] for node in theirs.nodes]
    assert json.loads(told[0]["values"][0])[0]["group_size"] == 1
    shared = {name for name in ours.names() if "all" in name and "reduce" in name}
    assert {"c10d::allreduce_", "gloo:all_reduce"} <= shared <= set(theirs.names())
    # Gloo's worker begins what the main thread has made: each thread has its own number all the same.
    threads = [attributes(node)["tid"] for node in ours.nodes if node["name"].endswith("|thread]")]
    assert len(threads) == len(set(threads)) > 1


def test_two_observers_each_get_their_own_window(tmp_path: Path) -> None:
    first = kg.ExecutionTraceObserver().register_callback(tmp_path / "first.json")
    second = kg.ExecutionTraceObserver().register_callback(tmp_path / "second.json")
    first.start()
    torch.ones(1)
    second.start()
    torch.zeros(1)
    first.stop()
    torch.full((1,), 1.0)
    for observer in (first, second):
        observer.unregister_callback()
    names = [Graph(loaded(tmp_path / f"{name}.json")).names() for name in ("first", "second")]
    wanted = "aten::ones", "aten::zeros", "aten::full"
    assert [[name in of for name in wanted] for of in names] == [[True, True, False], [False, True, True]]


def test_a_ninth_observer_is_refused_and_a_place_is_free_again_later(tmp_path: Path) -> None:
    observers = [kg.ExecutionTraceObserver().register_callback(tmp_path / f"{i}.json") for i in range(8)]
    with pytest.raises(kg.StateError, match="8 execution traces"):
        kg.ExecutionTraceObserver().register_callback(tmp_path / "ninth.json")
    observers.pop().unregister_callback()
    observers.append(kg.ExecutionTraceObserver().register_callback(tmp_path / "ninth.json"))
    for observer in observers:
        observer.unregister_callback()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [*(f"{i}.json" for i in range(8)), "ninth.json"]
    )


@pytest.mark.parametrize("mode", ["real", "fake"])
def test_ranges_of_integral_tensors_are_left_out_of_what_traces_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_RANGE", "1")
    make_fx = torch.fx.experimental.proxy_tensor.make_fx

    def operators() -> list[str]:
        graph = make_fx(lambda x: x.sum() * 2, tracing_mode=mode)(torch.tensor([1, 2])).graph
        return [str(node.target) for node in graph.nodes]

    expected = operators()
    observer = kg.ExecutionTraceObserver().register_callback(tmp_path / "trace.json")
    observer.start()
    assert operators() == expected
    torch.vmap(lambda x: x[torch.tensor([0, 1])])(torch.tensor([[3, 4], [5, 6]]))
    observer.stop()
    observer.unregister_callback()
    found = Graph(loaded(tmp_path / "trace.json"))
    ranges = [attributes(node).get("tensor_range") for node in found.nodes]
    assert all(isinstance(json.loads(text), dict) for text in ranges if text)
    assert any(ranges)


def test_a_range_that_is_open_at_the_end_is_a_node(tmp_path: Path) -> None:
    def run() -> None:
        kept.append(torch.profiler.record_function("open"))
        kept[0].__enter__()
        torch.ones(1)

    kept: list[Any] = []
    graph = traced(run, tmp_path / "graph.json")
    kept[0].__exit__(None, None, None)
    assert graph.parent(graph.named("aten::ones"))["name"] == "open"


def test_names_that_torch_cannot_write_are_escaped(tmp_path: Path) -> None:
    name = 'a "quoted" \\ name\nof two lines \x01'

    def run() -> None:
        with torch.profiler.record_function(name):
            pass

    assert name in traced(run, tmp_path / "graph.json").names()


def test_a_name_that_is_no_text_spoils_no_file(tmp_path: Path) -> None:
    """Torch takes bytes as well."""
    odd = b"\xff, \xc3(, \xed\xa0\x80, \xf4\x90\x80\x80, \xc0\xaf and \xe2\x82"
    whole = "\u00e9 \u20ac \U0001f600 \U0010ffff"

    def run() -> None:
        with torch.profiler.record_function(odd), torch.profiler.record_function(whole):
            pass

    names = [name.replace("\ufffd", "") for name in traced(run, tmp_path / "graph.json").names()]
    assert whole in names
    assert odd.decode(errors="ignore") in names


def test_strange_tensors_are_nodes_with_what_they_tell(tmp_path: Path) -> None:
    """Torch loses these, and hangs what follows on a node that is not there."""

    def run() -> None:
        torch.ones(2, 2).to_sparse_csr()
        torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
        torch.full((1,), 1.0)

    graph = traced(run, tmp_path / "graph.json")
    made = graph.named("aten::_nested_tensor_from_tensor_list")["outputs"]
    assert made["types"] == ["Tensor(float)"]
    assert made["shapes"] == [[]]
    assert graph.named("aten::to_sparse_csr")["outputs"]["shapes"] == [[2, 2]]
    assert graph.parent(graph.named("aten::full"))["name"] == "[pytorch|profiler|execution_trace|thread]"


def test_no_tensor_is_kept_alive(tmp_path: Path) -> None:
    observer = kg.ExecutionTraceObserver().register_callback(tmp_path / "graph.json")
    observer.start()
    tensor = torch.ones(3) + 1
    gone = weakref.ref(tensor)
    del tensor
    gc.collect()
    assert gone() is None
    observer.unregister_callback()


def test_more_than_one_chunk_comes_in_order(tmp_path: Path) -> None:
    """From threads that hand over chunks while others do, and while they are written."""

    def work() -> None:
        for _ in range(1500):
            torch.ones(1)

    def run() -> None:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    graph = traced(run, tmp_path / "graph.json.gz")
    assert graph.names().count("aten::ones") == 6000
    assert graph.names().count("aten::fill_") == 6000
    assert {graph.parent(node)["name"] for node in graph.nodes if node["name"] == "aten::fill_"} == {
        "aten::ones"
    }


def test_states_are_told_and_wrong_ones_do_nothing(tmp_path: Path) -> None:
    observer = kg.ExecutionTraceObserver()
    observer.start()
    observer.stop()
    observer.unregister_callback()
    assert (observer.is_registered, observer.is_running(), observer.get_output_file_path()) == (
        False,
        False,
        None,
    )
    path = str(tmp_path / "graph.json")
    assert observer.register_callback(path) is observer
    observer.register_callback(tmp_path / "another.json")
    assert (observer.is_registered, observer.is_running(), observer.get_output_file_path()) == (
        True,
        False,
        path,
    )
    observer.start()
    observer.start()
    assert observer.is_running()
    observer.cleanup()
    assert (observer.is_registered, observer.is_running()) == (False, False)
    assert [path.name for path in tmp_path.iterdir()] == ["graph.json"]


def test_every_method_of_torchs_observer_is_here_with_its_parameters() -> None:
    theirs = torch.profiler.ExecutionTraceObserver
    for name in (name for name in dir(theirs) if not name.startswith("_")):
        ours = getattr(kg.ExecutionTraceObserver, name)
        if callable(ours):
            assert list(signature(ours).parameters) == list(signature(getattr(theirs, name)).parameters)


def test_a_dropped_observer_finishes_its_file(tmp_path: Path) -> None:
    observer = kg.ExecutionTraceObserver().register_callback(tmp_path / "graph.json")
    observer.start()
    torch.ones(1)
    del observer
    gc.collect()
    # Whoever writes it also finishes it, in a thread of its own: what drops an observer waits for nothing.
    wait_until((tmp_path / "graph.json").exists)
    assert "aten::ones" in Graph(loaded(tmp_path / "graph.json")).names()


def test_a_folder_that_is_not_there_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(kg.KinetographError, match=r"cannot write .*missing"):
        kg.ExecutionTraceObserver().register_callback(tmp_path / "missing" / "graph.json")
    with pytest.raises(kg.KinetographError, match=r"cannot write .*: Is a directory"):
        kg.ExecutionTraceObserver().register_callback(tmp_path)
    with pytest.raises(kg.ArgumentError, match="output_file_path"):
        kg.ExecutionTraceObserver().register_callback(3)  # type: ignore[arg-type]
    with pytest.raises(kg.ArgumentError, match="execution_trace_observer"):
        kg.profile(execution_trace_observer="graph.json")


def test_the_environment_switches_it_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kg.ExecutionTraceObserver.build_execution_trace_obs_from_env() is None
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE", "1")
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE_EXTRAS", "1")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with kg.profile() as profile:
        torch.ones(1)
    observer = profile.execution_trace_observer
    path = Path(observer.get_output_file_path())
    assert path.name.endswith(".et.json")
    assert "aten::ones" in Graph(loaded(path)).names()
    assert observer.get_resources_dir() == str(path.with_suffix("")) + "_resources"
    assert Path(observer.get_resources_dir()).is_dir()


def run_program(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    head = "import os, torch, kinetograph as kg\nobserver = kg.ExecutionTraceObserver()\n"
    head += "observer.register_callback('graph.json')\nobserver.start()\n"
    return subprocess.run(
        [sys.executable, "-c", head + text],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("ending", "code"), [("", 0), ("raise SystemExit(3)", 3), ("raise ValueError('x')", 1)]
)
def test_a_program_that_ends_in_the_middle_leaves_its_file(ending: str, code: int, tmp_path: Path) -> None:
    result = run_program(f"torch.ones(1)\n{ending}", tmp_path)
    assert result.returncode == code, result.stderr
    graph = Graph(loaded(tmp_path / "graph.json"))
    graph.check()
    assert "aten::ones" in graph.names()
    assert [path.name for path in tmp_path.iterdir()] == ["graph.json"]


def test_a_forked_child_leaves_the_file_alone_and_can_write_its_own(tmp_path: Path) -> None:
    text = """
torch.ones(1)
with torch.profiler.record_function("open"):
    child = os.fork()
if child == 0:
    assert not observer.is_registered
    torch.zeros(1)
    own = kg.ExecutionTraceObserver().register_callback("child.json")
    own.start()
    torch.full((1,), 2.0)
    own.unregister_callback()
    raise SystemExit
assert os.waitpid(child, 0)[1] == 0
torch.eye(1)
"""
    result = run_program(text, tmp_path)
    assert result.returncode == 0, result.stderr
    graphs = [Graph(loaded(tmp_path / name)) for name in ("graph.json", "child.json")]
    for graph in graphs:
        graph.check()
    parent, child = (set(graph.names()) for graph in graphs)
    assert {"aten::ones", "open", "aten::eye"} <= parent
    assert "aten::zeros" not in parent | child
    assert "aten::full" in child
    assert sorted(path.name for path in tmp_path.iterdir()) == ["child.json", "graph.json"]


def test_a_file_is_finished_though_the_wait_for_it_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "graph.json"
    observer = kg.ExecutionTraceObserver().register_callback(path)
    observer.start()
    torch.ones(2) + 1
    join = threading.Thread.join

    def interrupted(thread: threading.Thread, timeout: float | None = None) -> None:
        monkeypatch.setattr(threading.Thread, "join", join)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        observer.unregister_callback()
    for thread in threading.enumerate():
        if thread.name == "kinetograph execution trace":
            thread.join()
    assert "aten::add" in {node["name"] for node in json.loads(path.read_text())["nodes"]}


def test_an_observer_is_registered_while_another_thread_finishes_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = kg.ExecutionTraceObserver(), kg.ExecutionTraceObserver()
    first.register_callback(tmp_path / "first.json")
    finish = ExecutionTraceFile.finish

    def finish_slowly(file: ExecutionTraceFile) -> None:
        monkeypatch.setattr(ExecutionTraceFile, "finish", finish)
        register = threading.Thread(target=second.register_callback, args=(tmp_path / "second.json",))
        register.start()
        register.join()
        finish(file)

    monkeypatch.setattr(ExecutionTraceFile, "finish", finish_slowly)
    first.unregister_callback()
    second.unregister_callback()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first.json", "second.json"]


def test_a_relative_path_is_meant_from_where_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    observer = kg.ExecutionTraceObserver().register_callback("graph.json")
    monkeypatch.chdir("/")
    observer.unregister_callback()
    assert [path.name for path in tmp_path.iterdir()] == ["graph.json"]


def test_an_observer_that_was_dropped_before_its_start_gives_its_place_back(tmp_path: Path) -> None:
    for number in range(20):
        kg.ExecutionTraceObserver().register_callback(tmp_path / f"{number}.json")
    last = kg.ExecutionTraceObserver().register_callback(tmp_path / "last.json")
    last.unregister_callback()
    assert len(list(tmp_path.glob("*.json"))) == 21

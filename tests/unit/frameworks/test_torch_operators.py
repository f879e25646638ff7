"""Operators of a real PyTorch in our traces, beside torch.profiler's own."""

from __future__ import annotations

import contextlib
import gc
import json
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import ANY

import pytest
from tests.integration.programs.resident import resident_bytes
from tests.torch_programs import (
    STEPS,
    convolution_step,
    is_counted_by_us,
    operators_of,
    ours,
    relative,
    theirs,
)

import kinetograph as kg
import kinetograph.frameworks.torch.operators
from kinetograph import _native, injection

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed here")


def names(trace: kg.Trace) -> list[str]:
    return [event.name for event in trace.events if event.category in ("cpu_op", "user_annotation")]


def kinds_of_notes(trace: kg.Trace) -> set[str]:
    return {note.kind for note in trace.notes}


@pytest.mark.parametrize("with_shapes", [False, True])
@pytest.mark.parametrize("program", STEPS)
def test_operators_equal_those_of_torchs_profiler(program: str, with_shapes: bool, tmp_path: Path) -> None:
    """In name, category, order, nesting, sequence number, shapes, types, strides, concrete inputs."""
    step = STEPS[program]()
    trace = ours(step, tmp_path / "ours.json", record_shapes=with_shapes).trace
    theirs(step, tmp_path / "theirs.json", record_shapes=with_shapes)
    our_threads, their_threads = (operators_of(tmp_path / name) for name in ("ours.json", "theirs.json"))
    assert len(our_threads) == len(their_threads) == 1
    assert relative(our_threads[0]) == relative(their_threads[0])
    assert len(our_threads[0]) > 100
    assert "unbalanced" not in kinds_of_notes(trace)


def vmap_step() -> Callable[[], object]:
    """Each level of it runs an operator, and torch counts all of them."""
    return partial(torch.func.vmap(torch.mm, in_dims=(0, None)), torch.ones(5, 2, 3), torch.ones(3, 4))


@pytest.mark.parametrize("program", [*STEPS, "vmap"])
def test_flops_are_torchs(program: str, tmp_path: Path) -> None:
    step = (STEPS | {"vmap": vmap_step})[program]()
    trace = ours(step, tmp_path / "ours.json", with_flops=True).trace
    profile = theirs(step, tmp_path / "theirs.json", with_flops=True)
    counted = [event for event in trace.events if event.flops and not is_counted_by_us(event.name)]
    theirs_counted = [event for event in profile.profiler.kineto_results.events() if event.flops()]
    assert sorted((event.name, event.flops) for event in counted) == sorted(
        (event.name(), event.flops()) for event in theirs_counted
    )
    assert counted


def attention_step() -> None:
    query, key, value = (torch.randn(2, 4, length, 8, requires_grad=True) for length in (6, 5, 5))
    torch.nn.functional.scaled_dot_product_attention(query, key, value).sum().backward()


def strided_convolution_step() -> None:
    model = torch.nn.Sequential(
        torch.nn.Conv1d(4, 6, 3, stride=2, dilation=2, padding=1), torch.nn.ConvTranspose1d(6, 4, 3)
    )
    model(torch.randn(3, 4, 20)).sum().backward()


@pytest.mark.parametrize("kind", ["convolution", "transformer", "attention", "strided convolution", "linear"])
def test_each_flop_is_counted_once_as_torchs_flop_counter_does(kind: str) -> None:
    """It counts products alone: neither sums nor multiplications by element are among its own."""
    from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

    # It knows those of GPUs by itself.
    on_cpu = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
    wide = torch.nn.Linear(8, 16, dtype=torch.bfloat16)
    steps: dict[str, Callable[[], object]] = {
        "attention": attention_step,
        "strided convolution": strided_convolution_step,
        "linear": lambda: wide(torch.ones(3, 5, 8, dtype=torch.bfloat16)),
    }
    step = steps.get(kind) or STEPS[kind]()
    with kg.profile(with_flops=True) as profile:
        step()
    formulas = {
        on_cpu: lambda *shapes, **_: sdpa_flop_count(*shapes[:3]),
        backward: lambda *shapes, **_: sdpa_backward_flop_count(*shapes[:4]),
    }
    with FlopCounterMode(display=False, custom_mapping=formulas) as counter:
        step()
    counted = [event for event in profile.events() if event.name not in ("aten::add", "aten::mul")]
    assert sum(event.flops for event in counted) == counter.get_total_flops() > 0


@pytest.mark.parametrize("by_shape", [False, True])
@pytest.mark.parametrize("program", STEPS)
def test_averages_have_torchs_rows(program: str, by_shape: bool, tmp_path: Path) -> None:
    step = STEPS[program]()
    profiles = [
        ours(step, tmp_path / "ours.json", record_shapes=True, with_flops=True),
        theirs(step, tmp_path / "theirs.json", record_shapes=True, with_flops=True),
    ]
    rows = [
        {(row.key, str(row.input_shapes)): (row.count, row.flops) for row in profile.key_averages(by_shape)}
        for profile in profiles
    ]
    for row, (count, flops) in rows[1].items():
        assert rows[0].pop(row) == (count, flops or ANY)
    assert not rows[0]


def test_scopes_have_pytorchs_numbers() -> None:
    step = convolution_step()
    with kg.profile() as profile:
        step()
    scope = {event.name: event.scope for event in profile.events()}
    assert scope["aten::conv2d"] is kg.RecordScope.FUNCTION
    assert scope["ConvolutionBackward0"] is kg.RecordScope.BACKWARD_FUNCTION
    assert scope["step"] is kg.RecordScope.USER_SCOPE
    assert scope["Optimizer.step#SGD.step"] is kg.RecordScope.USER_SCOPE


def test_overload_names_come_when_asked_for() -> None:
    wanted = kg.ExperimentalConfig(capture_overload_names=True)
    with kg.profile(experimental_config=wanted) as profile:
        torch.ones(2) + torch.ones(2)
    assert {event.name: event.overload_name for event in profile.events()}["aten::add"] == "Tensor"


def test_in_files_overloads_stand_behind_the_names_as_in_torchs(tmp_path: Path) -> None:
    def step() -> None:
        (torch.ones(2, 3) + torch.ones(2, 3)).sum().mul_(2.0)

    torchs = torch._C._profiler._ExperimentalConfig(capture_overload_names=True)
    trace = ours(step, tmp_path / "ours.json", experimental_config=torchs).trace
    theirs(step, tmp_path / "theirs.json", experimental_config=torchs)
    seen, expected = (operators_of(tmp_path / name)[0] for name in ("ours.json", "theirs.json"))
    overloads = [op.args.pop("Overload name", None) for op in seen]
    assert seen == expected
    assert ("aten::add.Tensor", "Tensor") in zip((op.name for op in seen), overloads, strict=True)
    again = kg.load(tmp_path / "ours.json")
    for each in (trace, again):
        assert ("aten::add", "Tensor") in {(event.name, event.overload_name) for event in each.events}
    assert names(again) == names(trace)


def test_what_one_session_asked_for_is_not_told_of_operators_behind_it() -> None:
    wanted = kg.ExperimentalConfig(capture_overload_names=True)
    with kg.profile() as profile:
        with kg.profile(experimental_config=wanted):
            torch.ones(2) + torch.ones(2)
        torch.ones(2) + torch.ones(2)
    added = [event for event in profile.events() if event.name == "aten::add"]
    assert [event.overload_name for event in added][1:] == [""]


def test_keyword_values_of_a_fast_range_are_its_arguments() -> None:
    """As torch.compile tells them of the kernels it launches, while torch's own profiler runs as well."""
    values = {"kernel_backend": "triton", "grid": 3, "is_fast": True}
    kernel_range = torch._C._profiler._RecordFunctionFast("kernel", [torch.ones(2)], values)
    torchs = torch.profiler.profile(record_shapes=True)
    with kg.profile(record_shapes=True) as profile, torchs, kernel_range:
        pass
    (kernel,) = (event for event in profile.events() if event.name == "kernel")
    assert kernel.shapes == [[2]]
    assert (kernel.args["kernel_backend"], kernel.args["grid"]) == ("triton", 3)


def test_sessions_get_what_they_asked_for_and_no_more() -> None:
    """Shapes and FLOPs are recorded for the one that wants them, and left out of the other."""
    plain, curious = kg.profile(), kg.profile(record_shapes=True, with_flops=True)
    first, second = torch.ones(3, 3), torch.ones(3, 3)
    plain.start()
    first @ second
    curious.start()
    first @ second
    first @ second
    plain.stop()
    first @ second
    curious.stop()
    products = [event for event in plain.events() if event.name == "aten::mm"]
    assert len(products) == 3
    assert not any(event.shapes or event.flops for event in products)
    products = [event for event in curious.events() if event.name == "aten::mm"]
    assert [event.shapes for event in products] == [[[3, 3], [3, 3]]] * 3
    assert [event.flops for event in products] == [2 * 3**3] * 3


def test_what_another_session_watches_has_shapes_from_the_beginning_of_one_that_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Operators run on while a session begins."""
    use = kinetograph.frameworks.torch.operators.OperatorUse
    start = use.start

    def busy_start(self: Any) -> None:
        torch.mm(torch.ones(3, 3), torch.ones(3, 3))
        start(self)

    with kg.profile():
        monkeypatch.setattr(use, "start", busy_start)
        with kg.profile(record_shapes=True) as curious:
            torch.mm(torch.ones(3, 3), torch.ones(3, 3))
    assert [event.shapes for event in curious.events() if event.name == "aten::mm"] == [[[3, 3], [3, 3]]]


def test_operators_that_torch_sends_by_nvtx_are_left_to_the_observer_while_it_watches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What that does to them is a native test, for a torch without CUDA sends none."""
    with kg.profile():  # loads the observer
        pass
    told: list[int] = []
    library = SimpleNamespace(kinetograph_leave_operators_to_observer=told.append)
    with monkeypatch.context() as patched:
        patched.setenv(injection.NVTX.variable, injection.library())
        patched.setattr("ctypes.CDLL", lambda _path: library)
        with kg.profile():
            assert told == [1]
        assert told == [1, 0]
    with kg.profile():
        pass
    assert told == [1, 0]


def test_operators_are_left_to_the_observer_where_nvtx_is_installed_while_it_watches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[int] = []
    library = SimpleNamespace(kinetograph_leave_operators_to_observer=told.append)
    monkeypatch.setenv(injection.NVTX.variable, "")
    monkeypatch.setattr(injection, "_early", {})
    with kg.profile():
        monkeypatch.setattr("ctypes.CDLL", lambda _path: library)
        kg.nvtx.install()
        assert told == [1]
    assert told == [1, 0]


def test_the_library_is_told_though_its_variable_was_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    library = SimpleNamespace(kinetograph_leave_operators_to_observer=told.append)
    monkeypatch.setenv(injection.NVTX.variable, injection.library())
    with kg.profile():
        monkeypatch.setenv(injection.NVTX.variable, "")
        monkeypatch.setattr("ctypes.CDLL", lambda _path: library)
        monkeypatch.setattr(_native, "mapped_library", lambda name: f"/somewhere/{name}")
    assert told == [0]


def test_torchs_profiler_runs_beside_ours(tmp_path: Path) -> None:
    step = convolution_step()
    with kg.profile() as profile:
        theirs(step, tmp_path / "theirs.json")
    seen = [op.name for op in operators_of(tmp_path / "theirs.json")[0]]
    assert [name for name in names(profile.trace) if name in set(seen)] == seen


def test_no_tensor_is_kept_alive_by_its_shapes() -> None:
    alive: weakref.WeakSet[Any] = weakref.WeakSet()
    with kg.profile(record_shapes=True, with_flops=True) as profile:
        for _ in range(20):
            tensors = [torch.ones(5, 5), torch.ones(5, 5)]
            for tensor in (*tensors, torch.cat(tensors) @ tensors[0]):
                alive.add(tensor)
        del tensor, tensors
        gc.collect()
        assert len(alive) == 0
    assert names(profile.trace).count("aten::mm") == 20


def test_lists_of_more_than_thirty_tensors_have_no_sizes_as_in_torchs(tmp_path: Path) -> None:
    tensor = torch.ones(2, 3)

    def step() -> None:
        torch.cat([tensor] * 30)
        torch.cat([tensor] * 31)

    ours(step, tmp_path / "ours.json", record_shapes=True)
    theirs(step, tmp_path / "theirs.json", record_shapes=True)
    seen, expected = (operators_of(tmp_path / name)[0] for name in ("ours.json", "theirs.json"))
    assert seen == expected
    assert [op.args["Input Dims"] for op in seen] == [[[[2, 3]] * 30, []], [[], []]] * 2


def test_lists_of_many_tensors_are_told_each_time_and_fill_no_memory() -> None:
    tensors = [torch.ones(1)] * 20_000
    with kg.profile(record_shapes=True) as profile:
        before = resident_bytes()
        for number in range(200):
            torch.cat([*tensors, torch.ones(1 + number)], dim=-(number % 2))
        assert resident_bytes() < before + (32 << 20)
    joined = [event for event in profile.events() if event.name == "aten::cat"]
    assert [event.concrete_inputs for event in joined] == [[None, 0], [None, -1]] * 100
    assert {tuple(event.input_dtypes) for event in joined} == {("TensorList", "Scalar")}


def test_an_operator_that_fails_ends_like_any_other() -> None:
    with kg.profile() as profile:
        with kg.scope("around"), pytest.raises(RuntimeError):
            torch.ones(2, 3) @ torch.ones(2, 3)
        torch.ones(1)
    events = {event.name: event for event in profile.events()}
    assert events["aten::mm"].parent.name == "aten::matmul"
    assert events["aten::matmul"].parent.name == "around"
    assert all(event.finished for event in profile.events())
    assert "unbalanced" not in kinds_of_notes(profile.trace)


def test_names_of_any_length_are_told_apart_in_each_session() -> None:
    """More of them than a thread remembers, and one after another where the last one's text was."""
    lengths = ["x" * length for length in range(1, 200)]
    alike = [f"{'y' * at}z{'y' * (40 - at)}" for at in range(41)]
    runs = [f"{first}{'x' * length}" for first in "abcdefgh" for length in range(1, 40)]
    batches = [f"{stage}:micro-batch {batch} begin" for stage in range(4) for batch in range(128)]
    swapped = ["stage an/in0/in0", "stage a1/in8/in1", "3000000000", "20000000000"]
    wanted = [*lengths, *alike, *runs, *batches, *swapped, *(f"range {number}" for number in range(1000))]
    for _ in range(2):
        with kg.profile() as profile:
            for text in (*wanted, *wanted):
                with torch.profiler.record_function(text):
                    pass
        assert Counter(names(profile.trace)) == Counter((*wanted, *wanted))


def test_a_range_that_began_before_the_session_is_no_loss() -> None:
    with torch.profiler.record_function("before"), kg.profile() as profile:
        torch.ones(1)
    with kg.profile() as other:
        range_of_torch = torch.profiler.record_function("left")
        range_of_torch.__enter__()
    with kg.profile() as last:
        range_of_torch.__exit__(None, None, None)
        torch.ones(1)
    assert "before" not in names(profile.trace)
    assert [event.finished for event in other.events() if event.name == "left"] == [False]
    assert "left" not in names(last.trace)
    for trace in (profile.trace, other.trace, last.trace):
        assert "unbalanced" not in kinds_of_notes(trace)


def test_ranges_that_end_in_another_order_keep_their_times() -> None:
    with kg.profile() as profile:
        first, second = (torch.profiler.record_function(name) for name in ("first", "second"))
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        torch.ones(1)
        second.__exit__(None, None, None)
    events = {event.name: event for event in profile.events()}
    assert events["first"].end_ns < events["aten::ones"].start_ns < events["second"].end_ns
    assert "unbalanced" not in kinds_of_notes(profile.trace)


def test_each_thread_has_its_operators() -> None:
    tids = []

    def work() -> None:
        weights = torch.ones(3, 3, requires_grad=True)
        (weights @ weights).sum().backward()
        tids.append(threading.get_native_id())

    with kg.profile() as profile:
        for _ in range(3):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
    products = [event.thread_id for event in profile.events() if event.name == "aten::matmul"]
    assert sorted(products) == sorted(tids)
    assert names(profile.trace).count("MmBackward0") == 3


def test_no_operator_is_missed_or_told_twice_while_other_sessions_come_and_go() -> None:
    is_done = threading.Event()
    ran = 0

    def work() -> None:
        nonlocal ran
        number = torch.ones(1)
        while not is_done.is_set():
            with torch.profiler.record_function(f"range {ran % 5}"):
                number.neg_()
            ran += 1

    with kg.profile() as profile:
        worker = threading.Thread(target=work)
        worker.start()
        for wants_shapes in [True, False] * 50:
            with kg.profile(record_shapes=wants_shapes):
                torch.ones(1)
        is_done.set()
        worker.join()
    seen = Counter(names(profile.trace))
    assert seen["aten::neg_"] == ran
    assert sum(seen[f"range {i}"] for i in range(5)) == ran
    assert "unbalanced" not in kinds_of_notes(profile.trace)


def test_the_loader_of_data_and_its_processes_are_like_torchs(tmp_path: Path) -> None:
    data = torch.utils.data.TensorDataset(torch.arange(8.0))

    def step() -> None:
        for (batch,) in torch.utils.data.DataLoader(data, batch_size=4, num_workers=2):
            batch.sum()

    ours(step, tmp_path / "ours.json")
    theirs(step, tmp_path / "theirs.json")
    for thread in threading.enumerate():
        if thread.name == "QueueFeederThread":  # of the loader's queues, which are closed
            thread.join()
    our_names, their_names = (
        Counter(op.name for op in operators_of(tmp_path / name)[0]) for name in ("ours.json", "theirs.json")
    )
    assert our_names == their_names
    assert our_names["enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"] == 6


def test_threads_of_torch_itself_are_seen() -> None:
    """Those of its pool, which run no Python."""
    scripted = torch.jit.CompilationUnit(
        """
def product(left, right):
    return left @ right
def apart(left, right):
    return torch.jit._wait(torch.jit._fork(product, left, right))
"""
    )
    one = torch.ones(2, 2)
    with kg.profile() as profile:
        scripted.apart(one, one)
    (product,) = (event for event in profile.events() if event.name == "aten::mm")
    assert product.thread_id != threading.get_native_id()


def test_a_thread_that_only_runs_operators_has_the_name_that_python_has_for_it() -> None:
    has_run, is_stopped = threading.Event(), threading.Event()

    def run() -> None:
        torch.ones(2)
        has_run.set()
        is_stopped.wait(timeout=60)

    with kg.profile() as profile:
        worker = threading.Thread(target=run, name="worker of ones")
        worker.start()
        assert has_run.wait(timeout=60)
        torch.zeros(2)
    is_stopped.set()
    worker.join()
    threads = {event.name: event.track.name for event in profile.events()}
    assert "(worker of ones)" in threads["aten::ones"]
    assert "(MainThread)" in threads["aten::zeros"]


def test_what_a_process_group_does_meanwhile_counts_for_no_caller(tmp_path: Path) -> None:
    """As in torch: neither is it the host's own time, nor does it lie in another operator."""
    groups = torch.distributed
    if not groups.is_available():
        pytest.skip("this torch has no distributed part")
    groups.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        with kg.profile() as ours:
            groups.all_reduce(torch.ones(4))
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as theirs:
            groups.all_reduce(torch.ones(4))
    finally:
        groups.destroy_process_group()
    assert [told_of_gloo(profile) for profile in (ours, theirs)] == [[(True, None, 0)]] * 2
    (row,) = (row for row in ours.key_averages() if row.key.startswith("gloo:"))
    assert (row.is_async, row.self_cpu_time_total) == (True, 0)


def told_of_gloo(profile: Any) -> list[tuple[bool, Any, float]]:
    return [
        (event.is_async, event.cpu_parent, event.self_cpu_time_total)
        for event in profile.events()
        if event.name.startswith("gloo:")
    ]


def test_a_session_of_one_thread_has_only_its_operators() -> None:
    kg.enable_profiler()
    other = threading.Thread(target=lambda: torch.ones(2))
    other.start()
    other.join()
    torch.zeros(2)
    trace = kg.disable_profiler().trace
    assert "aten::zeros" in names(trace)
    assert "aten::ones" not in names(trace)


def test_without_the_activity_of_the_host_there_are_no_operators() -> None:
    kg.enable_profiler(activities=())
    assert not torch.autograd.profiler._is_profiler_enabled
    torch.ones(2)
    assert names(kg.disable_profiler().trace) == []


@pytest.mark.parametrize("frameworks", ["torch", ["tensorflow"], 3])
def test_frameworks_are_names_that_we_know(frameworks: Any) -> None:
    with pytest.raises(kg.KinetographError, match=r"frameworks: expected (a list of names|the name of)"):
        kg.profile(frameworks=frameworks)


def test_a_convolution_that_torch_refuses_is_refused_as_before() -> None:
    """Its numbers are looked at before torch itself has looked at them."""
    with kg.profile(with_flops=True), pytest.raises(RuntimeError, match="non-positive stride"):
        torch.nn.functional.conv1d(torch.randn(1, 2, 8), torch.randn(3, 2, 3), stride=0)


class Sized(torch.Tensor):  # type: ignore[misc,name-defined]
    """Its sizes are known to Python alone, which runs operators to tell them."""

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, dispatch_sizes_strides_policy="sizes"
        )

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args = [value.inner if isinstance(value, Sized) else value for value in args]
        asked = {"sym_size": "shape", "size": "shape", "sym_stride": "stride", "stride": "stride"}
        name = asked.get(function.overloadpacket.__name__)
        if name is None:
            return function(*args, **(kwargs or {}))
        torch.ones(3, 3).exp()
        return args[0].shape if name == "shape" else args[0].stride()


def added(depth: int, **options: Any) -> kg.Trace:
    """Of an addition so deep in ranges, in a thread that has kept nothing in mind."""
    tensor = Sized(torch.ones(4, 4))

    def add() -> None:
        with contextlib.ExitStack() as ranges:
            for _ in range(depth):
                ranges.enter_context(torch.profiler.record_function("around"))
            torch.add(tensor, 1)

    with kg.profile(**options) as profile:
        thread = threading.Thread(target=add)
        thread.start()
        thread.join()
    return profile.trace


@pytest.mark.parametrize("depth", [0, 60, 61, 62, 63, 64])
def test_operators_that_a_tensor_runs_to_tell_its_sizes_are_not_the_programs(
    depth: int, tmp_path: Path
) -> None:
    """However many are open around them: what keeps those in mind grows at some depth."""
    graph = kg.ExecutionTraceObserver().register_callback(tmp_path / "graph.json")
    trace = added(depth, record_shapes=True, with_flops=True, execution_trace_observer=graph)
    graph.unregister_callback()
    plain = names(added(depth))
    assert names(trace) == plain
    nodes = [node["name"] for node in json.loads((tmp_path / "graph.json").read_text())["nodes"]]
    assert Counter(name for name in nodes if not name.startswith("[pytorch")) == Counter(plain)
    assert all(event.finished for event in trace.events)
    additions = [event.shapes for event in trace.events if event.name == "aten::add"]
    assert additions == [[[4, 4], [], []]] * 2
    assert "unbalanced" not in kinds_of_notes(trace)

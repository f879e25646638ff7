"""What torch.compile makes for a GPU: Inductor's Triton kernels, with their file and what launched them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.execution_traces import attributes, loaded
from tests.on_device import BOTH, kernels

import kinetograph as kg


@pytest.fixture(scope="module")
def step(torch: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], None]:
    pytest.importorskip("triton")
    pytest.importorskip("torch._inductor.config")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        # Others would stay behind.
        patch.setattr(torch._inductor.config, "compile_threads", 1)
        compiled = torch.compile(lambda x: (x.sin() * x.cos()).sum(-1))
        x = torch.randn(1024, 512, device="cuda")

        def one() -> None:
            compiled(x)
            torch.cuda.synchronize()

        one()
    return one


@pytest.fixture(scope="module")
def trace(step: Callable[[], None]) -> kg.Trace:
    with kg.profile(activities=BOTH, record_shapes=True) as p:
        step()
    return p.trace


@pytest.fixture(scope="module")
def torchs(
    torch: Any, step: Callable[[], None], trace: kg.Trace, tmp_path_factory: pytest.TempPathFactory
) -> kg.Trace:
    step()  # lets go of CUPTI
    path: Path = tmp_path_factory.mktemp("theirs") / "theirs.json"
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, record_shapes=True) as theirs:
        step()
    theirs.export_chrome_trace(str(path))
    return kg.load(path)


def launches(trace: kg.Trace) -> list[kg.Event]:
    return [event for event in trace.events if "kernel_file" in event.args]


def test_the_launch_of_a_compiled_kernel_says_what_torchs_profiler_says(
    trace: kg.Trace, torchs: kg.Trace
) -> None:
    (ours,), (theirs,) = launches(trace), launches(torchs)
    assert ours.name == theirs.name
    own = {"External id", "Record function id", "Ev Idx"}
    assert {k: v for k, v in ours.args.items() if k not in own} == {
        k: v for k, v in theirs.args.items() if k not in own
    }
    assert Path(ours.args["kernel_file"]).name.endswith(".py")


def test_the_compiled_kernel_hangs_on_its_launch_inside_the_compiled_region(trace: kg.Trace) -> None:
    (kernel,) = kernels(trace)
    (launch,) = launches(trace)
    assert kernel.linked is not None
    assert (kernel.linked.name, kernel.linked.start_ns) == (launch.name, launch.start_ns)
    names = []
    event: kg.Event | None = launch
    while event is not None:
        names.append(event.name)
        event = event.parent
    assert any(name.startswith("Torch-Compiled Region") for name in names)


def test_the_launch_is_a_node_of_an_execution_trace_as_under_torchs_profiler(
    torch: Any, step: Callable[[], None], torchs: kg.Trace, tmp_path: Path
) -> None:
    nodes = {}
    for name, package in (("ours", kg), ("theirs", torch.profiler)):
        observer = package.ExecutionTraceObserver()
        observer.register_callback(str(tmp_path / f"{name}.json"))
        options = {"activities": ["cpu"] if package is kg else [torch.profiler.ProfilerActivity.CPU]}
        with package.profile(execution_trace_observer=observer, record_shapes=True, **options):
            step()
        nodes[name] = [
            node
            for node in loaded(tmp_path / f"{name}.json")["nodes"]
            if attributes(node).get("kernel_backend") == "triton"
        ]
    (ours,), (theirs,) = nodes["ours"], nodes["theirs"]
    assert ours["name"] == theirs["name"]
    assert ours["inputs"]["shapes"] == theirs["inputs"]["shapes"]
    assert attributes(ours)["kernel_file"] == attributes(theirs)["kernel_file"]

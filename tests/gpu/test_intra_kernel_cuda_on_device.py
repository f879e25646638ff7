"""One kernel, by nvcc, CuPy, Numba and Triton: they record the same, on a real device."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import pytest
from tests.unit.intra_kernel.recorded_events import NAMES, told, told_by_steps

import kinetograph as kg
from kinetograph.intra_kernel import driver
from kinetograph.intra_kernel.cuda import (
    alloc_profiler_buffer,
    cuda_source,
    include_dir,
    load_profiler_buffer,
    reset_profiler_buffer,
)

KERNELS = Path(__file__).parents[1] / "unit" / "intra_kernel"
BLOCKS, THREADS = 300, 128

Launch = Callable[[Any, Any, Any, int, Any], None]
"""Of buffer, source, target, task and a stream of torch."""


def needed(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        pytest.skip(f"no {name}: {error}")


@cache
def function_by_nvcc(name: str) -> ctypes.c_void_p:
    if shutil.which("nvcc") is None:
        pytest.skip("no nvcc")
    command = ["nvcc", "-cubin", "-arch=native", "-DRECORDS=1", "-I", include_dir(), KERNELS / "kernels.cu"]
    with TemporaryDirectory() as folder:
        cubin = Path(folder, "kernels.cubin")
        done = subprocess.run([*command, "-o", cubin], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        code = cubin.read_bytes()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    with driver.primary_context(0):
        driver.call("cuModuleLoadData", ctypes.byref(module), code)
        driver.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
    return function


def by_nvcc(buffer: Any, source: Any, target: Any, task: int, stream: Any, name: str = "steps") -> None:
    address = buffer.__cuda_array_interface__["data"][0]
    values = [
        ctypes.c_uint64(address),
        ctypes.c_uint64(source.data_ptr()),
        ctypes.c_uint64(target.data_ptr()),
        ctypes.c_int(task),
    ]
    pointers = [ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values]
    arguments = (ctypes.c_void_p * len(pointers))(*pointers)
    grid, block = (BLOCKS, 1, 1), (THREADS, 1, 1)
    function = function_by_nvcc(name)
    with driver.primary_context(0):
        handle = ctypes.c_void_p(stream.cuda_stream)
        driver.call("cuLaunchKernel", function, *grid, *block, 0, handle, arguments, None)


def by_cupy(buffer: Any, source: Any, target: Any, task: int, stream: Any) -> None:
    cupy = needed("cupy")
    code = cuda_source() + (KERNELS / "kernels.cu").read_text()
    kernel = cupy.RawKernel(code, "steps", options=("-DRECORDS=1",))
    arrays = [cupy.asarray(array) for array in (buffer, source, target)]
    with cupy.cuda.ExternalStream(stream.cuda_stream):
        kernel((BLOCKS,), (THREADS,), (*arrays, cupy.int32(task)))


def by_numba(buffer: Any, source: Any, target: Any, task: int, stream: Any) -> None:
    cuda = needed("numba.cuda")
    kernel = import_module("tests.unit.intra_kernel.numba_kernels").steps
    kernel[BLOCKS, THREADS, cuda.external_stream(stream.cuda_stream)](buffer, source, target, task)


def by_triton(buffer: Any, source: Any, target: Any, task: int, stream: Any) -> None:
    needed("triton")
    torch = needed("torch")
    kernel = import_module("tests.unit.intra_kernel.kernels").steps
    with torch.cuda.stream(stream):
        kernel[(BLOCKS,)](buffer, source, target, task, SIZE=THREADS, num_warps=THREADS // 32)


@cache
def extension_of_torch() -> ModuleType:
    """As people write it who put a kernel into their script."""
    if shutil.which("nvcc") is None or shutil.which("ninja") is None:
        pytest.skip("no nvcc, or no ninja")
    cpp_extension = needed("torch.utils.cpp_extension")
    kernels = (KERNELS / "kernels.cu").read_text()
    launches = """
        void launch(torch::Tensor buffer, torch::Tensor source, torch::Tensor target, int64_t task) {
            const int blocks = source.numel() / 128;
            steps<<<blocks, 128, 0, at::cuda::getCurrentCUDAStream()>>>(
                buffer.data_ptr(), source.data_ptr<float>(), target.data_ptr<float>(), int(task));
        }
    """
    extension: ModuleType = cpp_extension.load_inline(
        "kinetograph_steps",
        cpp_sources="void launch(torch::Tensor, torch::Tensor, torch::Tensor, int64_t);",
        cuda_sources=f"#include <ATen/cuda/CUDAContext.h>\n{kernels}\n{launches}",
        functions=["launch"],
        extra_include_paths=[str(include_dir())],
        extra_cuda_cflags=["-DRECORDS=1"],
    )
    return extension


def by_load_inline(buffer: Any, source: Any, target: Any, task: int, stream: Any) -> None:
    torch = needed("torch")
    extension = extension_of_torch()
    with torch.cuda.stream(stream):
        extension.launch(torch.as_tensor(buffer, device="cuda"), source, target, task)


front_ends = pytest.mark.parametrize("launch", [by_nvcc, by_cupy, by_load_inline, by_numba, by_triton])


def arrays(torch: Any) -> tuple[Any, Any]:
    source = torch.arange(BLOCKS * THREADS, dtype=torch.float32, device="cuda")
    torch.cuda.synchronize()
    return source, torch.zeros_like(source)


def dropped(trace: kg.Trace) -> list[str]:
    return [note.text for note in trace.notes if note.kind == "dropped"]


@front_ends
def test_all_front_ends_record_the_same(torch: Any, launch: Launch) -> None:
    buffer = alloc_profiler_buffer(100_000)
    source, target = arrays(torch)
    launch(buffer, source, target, 0, torch.cuda.current_stream())
    trace = load_profiler_buffer(buffer, NAMES)
    assert torch.equal(target, source * 8)
    assert told(trace) == told_by_steps(BLOCKS, THREADS)
    assert not trace.notes
    assert len(trace.processes) > 1  # SMs


@front_ends
def test_a_full_segment_says_how_much_it_lost(torch: Any, launch: Launch) -> None:
    buffer = alloc_profiler_buffer(10_000, slots_per_segment=8)
    source, target = arrays(torch)
    launch(buffer, source, target, 0, torch.cuda.current_stream())
    [note] = dropped(load_profiler_buffer(buffer, NAMES))
    # A block has 16 slots to write: ten records and six payloads. Five fit. CUDA C++ writes over the last of
    # them, the others over all but the first.
    lost = 12 if launch in (by_nvcc, by_cupy, by_load_inline) else 15
    assert note.startswith(f"about {lost * BLOCKS} records found no slot, in {BLOCKS} full segments")
    assert torch.equal(target, source * 8)


@front_ends
def test_a_full_buffer_says_how_many_blocks_it_refused(torch: Any, launch: Launch) -> None:
    buffer = alloc_profiler_buffer(1)
    launches = 20
    source, target = arrays(torch)
    for _ in range(launches):
        launch(buffer, source, target, 0, torch.cuda.current_stream())
    [note] = dropped(load_profiler_buffer(buffer, NAMES))
    assert note.startswith(f"{launches * BLOCKS - 4096} blocks found no free segment")
    assert torch.equal(target, source * 8)
    reset_profiler_buffer(buffer)
    launch(buffer, source, target, 0, torch.cuda.current_stream())
    assert told(load_profiler_buffer(buffer, NAMES)) == told_by_steps(BLOCKS, THREADS)


@front_ends
def test_two_streams_share_a_buffer(torch: Any, launch: Launch) -> None:
    buffer = alloc_profiler_buffer(100_000)
    targets = []
    streams = [torch.cuda.Stream() for _ in range(2)]
    source, _target = arrays(torch)
    for stream in streams:
        targets.append(torch.zeros_like(source))
        torch.cuda.synchronize()
        launch(buffer, source, targets[-1], 0, stream)
    trace = load_profiler_buffer(buffer, NAMES)
    assert told(trace) == told_by_steps(BLOCKS, THREADS, launches=2)
    assert all(torch.equal(target, source * 8) for target in targets)


@pytest.mark.parametrize("kind", ["torch", "cupy", "numba", "driver"])
@front_ends
def test_all_front_ends_take_buffers_of_all_kinds(torch: Any, launch: Launch, kind: str) -> None:
    if kind in ("cupy", "numba"):
        needed(kind)
    buffer = alloc_profiler_buffer(100_000, kind=kind)
    if launch is by_triton and not hasattr(buffer, "data_ptr"):
        buffer = torch.as_tensor(buffer, device="cuda")  # the same memory
    source, target = arrays(torch)
    launch(buffer, source, target, 0, torch.cuda.current_stream())
    assert told(load_profiler_buffer(buffer, NAMES)) == told_by_steps(BLOCKS, THREADS)


def test_each_warp_may_have_a_row_in_cuda(torch: Any) -> None:
    buffer = alloc_profiler_buffer(100_000)
    by_nvcc(buffer, *arrays(torch), 0, torch.cuda.current_stream(), name="warps")
    trace = load_profiler_buffer(buffer, ["whole", "thread"])
    assert rows_of_warps(trace) == ROWS_OF_WARPS
    marks = [event for event in trace.events if event.name == "thread"]
    assert {event.args["payload"] for event in marks} == set(range(0, THREADS, 32))


def test_each_warp_may_have_a_row_in_numba(torch: Any) -> None:
    cuda = needed("numba.cuda")
    kernel = cuda.jit(import_module("tests.unit.intra_kernel.numba_kernels").warps)
    buffer = alloc_profiler_buffer(100_000)
    kernel[BLOCKS, THREADS](buffer, *arrays(torch), 0)
    assert rows_of_warps(load_profiler_buffer(buffer)) == ROWS_OF_WARPS


ROWS_OF_WARPS = sorted(
    f"block {block} group {warp}" for block in range(BLOCKS) for warp in range(THREADS // 32)
)


def rows_of_warps(trace: kg.Trace) -> list[str]:
    assert not trace.notes
    return sorted(event.track.name for event in trace.events if event.kind == kg.EventKind.SPAN)

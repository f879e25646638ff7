"""Record many ranges, stop, write a file: one function per tool, each called in a fresh process."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")
NAMES = [f"step {number}" for number in range(100)]


@dataclass(frozen=True)
class Recording:
    """CPU seconds of all threads; memory over what the process held before it began to record."""

    stop_s: float
    write_s: float
    file_bytes: int
    peak_bytes: int

    @property
    def total_s(self) -> float:
        return self.stop_s + self.write_s


def kinetograph(count: int, path: str) -> Recording:
    import kinetograph as kg

    def record(count: int) -> None:
        for _ in range(count // len(NAMES)):
            for name in NAMES:
                with kg.scope(name):
                    pass

    kg.enable_profiler(kg.ProfilerConfig(), {kg.ActivityType.CPU})
    record(len(NAMES))
    kg.disable_profiler().save(path)

    memory = PeakMemory()
    kg.enable_profiler(kg.ProfilerConfig(), {kg.ActivityType.CPU})
    record(count)
    stop_s, result = cpu_seconds(kg.disable_profiler)
    write_s, _ = cpu_seconds(lambda: result.save(path))
    return Recording(stop_s, write_s, os.path.getsize(path), memory.growth_bytes())


def kinetograph_calls(count: int, path: str) -> Recording:
    """Calls of Python functions, as viztracer records them."""
    import kinetograph as kg

    def enable() -> None:
        config = kg.ProfilerConfig(with_stack=True)
        kg.enable_profiler(config, {kg.ActivityType.CPU}, all_threads=True)

    enable()
    call_functions(len(FUNCTIONS))
    kg.disable_profiler().save(path)

    memory = PeakMemory()
    enable()
    call_functions(count)
    stop_s, result = cpu_seconds(kg.disable_profiler)
    write_s, _ = cpu_seconds(lambda: result.save(path))
    return Recording(stop_s, write_s, os.path.getsize(path), memory.growth_bytes())


def torch(count: int, path: str) -> Recording:
    from torch._C._profiler import _RecordFunctionFast
    from torch.profiler import ProfilerActivity, profile

    def record(count: int) -> None:
        for _ in range(count // len(NAMES)):
            for name in NAMES:
                with _RecordFunctionFast(name):
                    pass

    with profile(activities=[ProfilerActivity.CPU]):
        record(len(NAMES))

    memory = PeakMemory()
    profiler = profile(activities=[ProfilerActivity.CPU])
    profiler.start()
    record(count)
    stop_s, _ = cpu_seconds(profiler.stop)
    write_s, _ = cpu_seconds(lambda: profiler.export_chrome_trace(path))
    return Recording(stop_s, write_s, os.path.getsize(path), memory.growth_bytes())


def floor(count: int, path: str) -> Recording:
    """A bare C writer: no recorder, no names to look up, no compression."""
    from benchmarks.floor import write_json

    return Recording(0, write_json(count, path), os.path.getsize(path), 0)


def viztracer(count: int, path: str) -> Recording:
    """By its usual writer, which takes orjson where that is installed."""
    return trace_and_save(count, path, dump_raw=False)


def viztracer_raw(count: int, path: str) -> Recording:
    """By its writer in C."""
    return trace_and_save(count, path, dump_raw=True)


def trace_and_save(count: int, path: str, *, dump_raw: bool) -> Recording:
    from viztracer import VizTracer

    memory = PeakMemory()
    tracer = VizTracer(verbose=0, tracer_entries=count + 1_000, output_file=path, dump_raw=dump_raw)
    tracer.start()
    call_functions(count)
    stop_s, _ = cpu_seconds(tracer.stop)
    write_s, _ = cpu_seconds(tracer.save)
    return Recording(stop_s, write_s, os.path.getsize(path), memory.growth_bytes())


def function_called(name: str) -> Callable[[], None]:
    def traced() -> None:
        pass

    traced.__code__ = traced.__code__.replace(co_name=name)
    return traced


FUNCTIONS = [function_called(name) for name in NAMES]


def call_functions(count: int) -> None:
    for _ in range(count // len(FUNCTIONS)):
        for function in FUNCTIONS:
            function()


def cpu_seconds(action: Callable[[], Result]) -> tuple[float, Result]:
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


class PeakMemory:
    """The kernel's high-water mark of resident memory, reset when this object is made."""

    def __init__(self) -> None:
        with suppress(PermissionError):
            Path("/proc/self/clear_refs").write_text("5")
        self.before = status_bytes("VmRSS")

    def growth_bytes(self) -> int:
        return status_bytes("VmHWM") - self.before


def status_bytes(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise KeyError(field)

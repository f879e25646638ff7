"""The fake CUDA in a program of its own: tests/integration/test_cuda.py runs one of these functions."""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
from typing import Any

FOLDER = os.environ["FAKE_CUDA"]


class Cuda:
    """The libraries as a framework has them: loaded, and initialised when asked."""

    def __init__(self) -> None:
        self.driver = ctypes.CDLL(f"{FOLDER}/libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
        self.cupti = ctypes.CDLL(f"{FOLDER}/libcupti.so.13", mode=ctypes.RTLD_GLOBAL)

    def initialise(self) -> Cuda:
        self.driver.cuInit(0)
        return self

    def launch(self, name: str = "_Z3addPf", device: int = 0, stream: int = 7) -> None:
        self.cupti.fake_launch(name.encode(), device, stream)

    def counted_launch(self, name: str = "_Z3addPf") -> None:
        self.cupti.fake_counted_launch(name.encode(), 0)

    def copy(self, nbytes: int = 4096) -> None:
        self.cupti.fake_copy(ctypes.c_uint64(nbytes), 1, 2, 3, 7)


def summary(trace: Any) -> dict[str, Any]:
    events = [
        {"name": e.name, "category": e.category, "device": int(e.device_type), "args": dict(e.args)}
        for e in trace.events
    ]
    return {
        "events": events,
        "notes": [[note.kind, note.text] for note in trace.notes],
        "properties": trace.device_properties,
        "metadata": dict(trace.metadata),
    }


def refused(**options: Any) -> dict[str, Any]:
    """How a profile with these options is refused."""
    import kinetograph as kg

    try:
        kg.profile(**options).start()
    except kg.KinetographError as error:
        return {"type": type(error).__name__, "text": str(error)}
    return {"type": "none", "text": ""}


def kernel_in_scope() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    with kg.profile(activities=["cpu", "cuda"]) as p, kg.scope("step"):
        cuda.launch()
        cuda.copy()
    p.export_chrome_trace(sys.argv[2])
    averages = {row.key: [row.self_device_time_total, row.device_time_total] for row in p.key_averages()}
    return {**summary(p.trace), "averages": averages}


def every_kind_of_record() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    asks = kg.ExperimentalConfig(enable_cuda_sync_events=True)
    nothing = ctypes.c_uint64(0)
    with kg.profile(activities=["cpu", "cuda"], profile_memory=True, experimental_config=asks) as p:
        for _ in range(2):  # each kind is behind each other one
            cuda.launch()
            cuda.copy()
            cuda.cupti.fake_peer_copy(ctypes.c_uint64(64), 0, 1, 7)
            cuda.cupti.fake_set(ctypes.c_uint64(512), 7)
            cuda.cupti.fake_record_event(3, 7)
            cuda.cupti.fake_stream_wait_event(3, 8)
            cuda.cupti.fake_overhead(1 << 16)
            cuda.cupti.fake_create_stream(1, 9, -5)
            cuda.cupti.fake_compilation()
            cuda.cupti.fake_allocate(ctypes.c_uint64(4096), ctypes.c_uint64(100), 0, nothing, nothing)
    return summary(p.trace)


def several_devices() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda()
    cuda.driver.fake_set_devices(2)
    cuda.initialise()
    with kg.profile(activities=["cpu", "cuda"]) as p, kg.scope("step"):
        cuda.launch("first", device=0)
        cuda.launch("second", device=1)
    found = [event for event in p.events() if event.category == "kernel"]
    return {
        "kernels": {event.name: [event.device_index, event.args["device"]] for event in found},
        "tracks": len({event.track.process.pid for event in found}),
        "drawn": sum(event.category == "gpu_user_annotation" for event in p.events()),
        "properties": [each["id"] for each in p.trace.device_properties],
    }


def a_kernel_records_what_it_does() -> dict[str, Any]:
    import time
    from pathlib import Path

    import kinetograph as kg
    from kinetograph.intra_kernel import live

    tests = Path(__file__).parents[2]
    sys.path += [str(tests), str(tests / "unit" / "intra_kernel")]
    from synthetic import Buffer

    cuda, memory = Cuda().initialise(), Buffer(1000)
    live.register(memory, lambda buffer: buffer.contents()[0], ["load"], 0)
    with kg.profile(activities=["cpu", "cuda"]) as p, kg.scope("step"):
        cuda.launch()
        now_ns = time.time_ns()
        for block in range(264):
            memory.claim(block, 264, block % 132, now_ns)
            memory.start(0, now_ns)
            memory.end(0, now_ns)
    p.trace.save(sys.argv[2])
    return summary(p.trace)


def cuda_appears_while_recording() -> dict[str, Any]:
    import time

    import kinetograph as kg
    from kinetograph import _native

    cuda = Cuda()
    with kg.profile(activities=["cuda"]) as p:
        waiting = _native.cuda_status()[0]
        cuda.initialise()
        while _native.cuda_status()[0] == waiting:
            time.sleep(0.001)
        cuda.launch()
    return summary(p.trace)


def cuda_never_appears() -> dict[str, Any]:
    import kinetograph as kg

    Cuda()
    with kg.profile(activities=["cpu", "cuda"]) as p, kg.scope("step"):
        pass
    return summary(p.trace)


def cupti_is_not_mapped() -> dict[str, Any]:
    import kinetograph as kg

    ctypes.CDLL(f"{FOLDER}/libcuda.so.1", mode=ctypes.RTLD_GLOBAL).cuInit(0)
    with kg.profile(activities=["cpu", "cuda"]) as p, kg.scope("step"):
        pass
    return summary(p.trace)


def another_tool_owns_cupti() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    cuda.cupti.fake_fail(b"cuptiSubscribe", 39)
    with kg.profile(activities=["cpu", "cuda"]) as p, kg.scope("step"):
        cuda.launch()
    return summary(p.trace)


def another_tool_takes_cupti_over() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    with kg.profile(activities=["cuda"]) as p:
        cuda.launch()
        cuda.cupti.fake_take_over()
        cuda.cupti.cuptiActivityFlushAll(1)
        cuda.launch()
    cuda.launch("afterwards")
    return {**summary(p.trace), "is_subscribed": cuda.cupti.fake_is_subscribed()}


def a_cycle_loses_cupti() -> dict[str, Any]:
    import warnings

    import kinetograph as kg

    cuda = Cuda().initialise()
    kernels: list[int] = []
    actions: list[str] = []
    with (
        warnings.catch_warnings(record=True) as told,
        kg.profile(
            activities=["cuda"],
            schedule=kg.schedule(wait=0, warmup=1, active=3),
            on_trace_ready=lambda p: kernels.append(sum(e.category == "kernel" for e in p.events())),
        ) as p,
    ):
        warnings.simplefilter("always")
        for step in range(8):
            actions.append(p.current_action.name)
            cuda.launch()
            if step == 1:
                # The end of a session is where it is seen.
                with kg.profile(activities=["cuda"]):
                    cuda.cupti.fake_take_over()
                    cuda.cupti.cuptiActivityFlushAll(1)
            p.step()
    return {"actions": actions, "kernels": kernels, "told": [str(warning.message) for warning in told]}


def no_thread_is_to_be_had() -> dict[str, Any]:
    import resource
    import signal

    import kinetograph as kg
    from kinetograph import _native
    from kinetograph.session.cuda_library import cupti_libraries

    cuda = Cuda().initialise()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as statm:
        now = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + (1 << 20), limits[1]))  # too little for a stack
    failures = 0
    try:
        _native.start_scope_timer()
    except RuntimeError:
        failures += 1
    try:
        _native.start_cuda(
            synchronization=False,
            memory=False,
            crash_safe=False,
            memory_limit_bytes=1 << 30,
            libraries=cupti_libraries(),
        )
    except RuntimeError:
        failures += 1
    resource.setrlimit(resource.RLIMIT_AS, limits)
    blocked = len(signal.pthread_sigmask(signal.SIG_BLOCK, []))
    with kg.profile(activities=["cuda"]) as p:
        cuda.launch()
    _native.flush_timed_scopes()  # nobody is there who would do it
    return {
        "failures": failures,
        "blocked": blocked,
        "kernels": sum(event.category == "kernel" for event in p.events()),
        "state": _native.cuda_status()[0],
    }


def stops_while_another_thread_goes_on() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    # It works in a context of its own, which nobody else knows.
    cuda.driver.fake_set_context(0)
    cuda.driver.fake_destroy_context(1)
    is_over = threading.Event()

    def work() -> None:
        while not is_over.is_set():
            cuda.launch()

    worker = threading.Thread(target=work)
    worker.start()
    notes = []
    for _ in range(10):
        with kg.profile(activities=["cuda"]) as p:
            cuda.launch()
        notes += [note.text for note in p.trace.notes if note.kind == "cuda"]
    is_over.set()
    worker.join()
    return {"notes": notes}


def the_driver_does_not_wait() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    with kg.profile(activities=["cuda"]) as p:
        cuda.cupti.fake_hold_work(1)
        cuda.launch()
        cuda.driver.fake_set_capturing(1)
    return summary(p.trace)


def sessions_one_after_the_other() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    counts = []
    for _ in range(3):
        with kg.profile(activities=["cuda"]) as p:
            cuda.launch()
        cuda.launch("between two sessions")
        counts.append(sum(event.category == "kernel" for event in p.events()))
    return {"counts": counts, "finalizations": cuda.cupti.fake_finalizations()}


def a_session_without_cuda_beside_one_with_it() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    with kg.profile(activities=["cuda"]) as gpu, kg.profile(activities=["cpu"]) as cpu:
        cuda.launch()
    return {
        "gpu": sorted({event.category for event in gpu.events()}),
        "cpu": sorted({event.category for event in cpu.events()}),
    }


def waits_are_for_those_who_ask() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    asks = kg.ExperimentalConfig(enable_cuda_sync_events=True)
    with (
        kg.profile(activities=["cuda"], experimental_config=asks) as with_waits,
        kg.profile(activities=["cuda"]) as without,
    ):
        cuda.cupti.fake_synchronize_stream(7)
    return {
        "with": sorted({event.category for event in with_waits.events()}),
        "without": sorted({event.category for event in without.events()}),
    }


def whole_graphs() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    counts = {}
    for wanted in ("nodes", "launches"):
        asks = kg.ExperimentalConfig(cuda_graphs=wanted)
        with kg.profile(activities=["cuda"], experimental_config=asks) as p:
            cuda.cupti.fake_launch_graph(5, 3, 7)
        counts[wanted] = sum(event.category == "kernel" for event in p.events())
    return counts


def memory_is_for_those_who_ask() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    nothing = ctypes.c_uint64(0)
    with (
        kg.profile(activities=["cpu", "cuda"], profile_memory=True) as asks,
        kg.profile(activities=["cpu", "cuda"]) as does_not,
        kg.scope("step"),
    ):
        cuda.cupti.fake_allocate(ctypes.c_uint64(4096), ctypes.c_uint64(100), 0, nothing, nothing)
        cuda.cupti.fake_allocate(ctypes.c_uint64(8192), ctypes.c_uint64(20), 0, nothing, nothing)
        cuda.cupti.fake_free(ctypes.c_uint64(4096), ctypes.c_uint64(100), 0, nothing, nothing)
    asks.export_chrome_trace(sys.argv[2])
    averages = {
        row.key: [row.self_device_memory_usage, row.device_memory_usage] for row in asks.key_averages()
    }
    without = sum(event.name == "[memory]" for event in does_not.events())
    return {**summary(asks.trace), "averages": averages, "without": without}


def tasks_launch() -> dict[str, Any]:
    import asyncio

    import kinetograph as kg

    cuda = Cuda().initialise()

    async def task(name: str, turns: list[asyncio.Event]) -> None:
        with kg.scope(name):
            cuda.launch(f"{name} begins")
            for number, turn in enumerate(turns):
                await turn.wait()
                turn.clear()
                with kg.scope(f"{name} part {number}"):
                    cuda.launch(f"{name} part {number}")
                cuda.launch(f"{name} after part {number}")

    async def main() -> None:
        first, second = asyncio.Event(), asyncio.Event()
        tasks = [
            asyncio.create_task(task("a", [first, first])),
            asyncio.create_task(task("b", [second, second])),
        ]
        for turn in (second, first, first, second):
            await asyncio.sleep(0)
            turn.set()
            while turn.is_set():
                await asyncio.sleep(0)
        await asyncio.gather(*tasks)

    with kg.profile(activities=["cpu", "cuda"]) as p, kg.scope("loop"):
        asyncio.run(main())
        cuda.launch("loop")
    kernels = [event for event in p.events() if event.category == "kernel"]
    return {kernel.name: kernel.linked.name if kernel.linked else "" for kernel in kernels}


def threads_launch() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()

    def work(stream: int) -> None:
        with kg.scope(f"thread {stream}"):
            for _ in range(100):
                cuda.launch(stream=stream)

    with kg.profile(activities=["cpu", "cuda"]) as p:
        threads = [threading.Thread(target=work, args=(stream,)) for stream in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    owners: dict[str, set[str]] = {}
    for event in p.events():
        if event.category == "kernel":
            linked = event.linked
            owners.setdefault(str(event.args["stream"]), set()).add(linked.name if linked else "none")
    return {"owners": {stream: sorted(names) for stream, names in owners.items()}}


def paused_while_launching() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    with kg.profile(activities=["cpu", "cuda"]) as p:
        cuda.launch("kept")
        p.toggle_collection_dynamic(False, ["cpu", "cuda"])
        cuda.launch("left out")
        p.toggle_collection_dynamic(True, ["cpu", "cuda"])
        cuda.launch("kept again")
    return {"kernels": sorted(event.name for event in p.events() if event.category == "kernel")}


def paused_without_the_cpu() -> dict[str, Any]:
    import warnings

    import kinetograph as kg

    cuda = Cuda().initialise()
    with kg.profile(activities=["cuda"]) as alone:
        cuda.launch("kept")
        alone.toggle_collection_dynamic(False, ["cuda"])
        cuda.launch("left out")
    with kg.profile(activities=["cpu", "cuda"]) as both, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        both.toggle_collection_dynamic(False, ["cuda"])
        cuda.launch("kept")
    kernels = [[event.name for event in p.events() if event.category == "kernel"] for p in (alone, both)]
    return {"alone": kernels[0], "both": kernels[1], "said": [str(warning.message) for warning in said]}


def fills_a_ring_until_the_end() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    ring = kg.RecordOptions(mode="ring", ring_bytes=1_000_000)
    with kg.profile(activities=["cpu", "cuda"], recording=ring) as p:
        for number in range(10_000):
            with kg.scope("step"):
                cuda.cupti.fake_launch_graph(number, 3, 7)
    events = [event.category for event in p.events()]
    return {category: events.count(category) for category in ("user_annotation", "cuda_runtime", "kernel")}


def forks_while_recording() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    with kg.profile(activities=["cuda"]) as p:
        cuda.launch()
        child = os.fork()
        if child == 0:
            with kg.profile(activities=["cpu"]) as inner, kg.scope("child"):
                pass
            os._exit(0 if [event.name for event in inner.events()] == ["child"] else 1)
        status = os.waitpid(child, 0)[1]
        cuda.launch()
    return {"child": status, "kernels": sum(event.category == "kernel" for event in p.events())}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))

"""Hardware counters of the fake CUDA on a time grid: test_pm_sampling.py runs one of these functions."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
import time
from typing import Any

from fake_cuda_program import Cuda, refused, summary

READ = "dram__bytes_read.sum"
ACTIVE = "sm__cycles_active.avg"
BUSY = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
BOTH = ["cpu", "cuda"]
IGNORED = 999


def sampling(*names: str, interval_ns: int = 100_000) -> dict[str, Any]:
    """Options of a profile."""
    import kinetograph as kg

    wanted = kg.ExperimentalConfig(pm_sampling_metrics=names, pm_sampling_interval_ns=interval_ns)
    return {"activities": BOTH, "experimental_config": wanted}


def take(cuda: Cuda, *values: int, device: int = 0) -> None:
    for value in values:
        cuda.cupti.fake_take_samples(device, 1, ctypes.c_uint64(value))


def counters(trace: Any) -> list[Any]:
    return [event for event in trace.events if event.category == "hardware_counters"]


def values(trace: Any, metric: str = READ) -> list[int]:
    return [event.args["value"] // 100 for event in counters(trace) if event.name == metric]


def sampled() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    with kg.profile(**sampling(READ, ACTIVE, interval_ns=50_000)) as p, kg.scope("step"):
        interval_ns = cuda.cupti.fake_sampling_interval()
        take(cuda, IGNORED, 1)
        cuda.launch()
        take(cuda, 2)
    read_back = {}
    for suffix in ("json", "pftrace"):
        path = f"{sys.argv[2]}.{suffix}"
        p.trace.save(path)
        read_back[suffix] = [[e.name, e.start_ns, dict(e.args)] for e in counters(kg.load(path))]
    found = [[e.name, e.start_ns, dict(e.args)] for e in counters(p.trace)]
    return {**summary(p.trace), "found": found, "read back": read_back, "interval": interval_ns}


def two_devices() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    cuda.driver.fake_set_devices(2)
    with kg.profile(**sampling(READ)) as p:
        for device in (0, 1):
            take(cuda, IGNORED, device + 1, device=device)
    for path in sys.argv[2:]:
        p.trace.save(path)
    return {"found": [[event.device_index, event.args["value"]] for event in counters(p.trace)]}


def steps() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    traces: list[Any] = []
    with kg.profile(
        schedule=kg.schedule(wait=1, warmup=1, active=1, repeat=2),
        on_trace_ready=lambda p: traces.append(p.trace),
        **sampling(READ),
    ) as p:
        for step in range(6):
            take(cuda, IGNORED, step)
            p.step()
    return {"traces": [values(trace) for trace in traces], "on": cuda.cupti.fake_sampled_devices()}


def paused() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    with kg.profile(**sampling(READ)) as p:
        take(cuda, IGNORED, 1)
        p.toggle_collection_dynamic(False, BOTH)
        take(cuda, IGNORED, 2)
        p.toggle_collection_dynamic(True, BOTH)
        take(cuda, IGNORED, 3)
    return {"found": values(p.trace)}


def taken_over() -> dict[str, Any]:
    """The fake ends the program if CUPTI is let go of while counters are sampled."""
    import kinetograph as kg

    cuda = Cuda().initialise()
    with kg.profile(**sampling(READ)) as p:
        take(cuda, IGNORED, 1)
        cuda.cupti.fake_take_over()
        cuda.cupti.cuptiActivityFlushAll(1)
        cuda.launch()
        p.toggle_collection_dynamic(False, BOTH)
        cuda.launch()
    return {"on": cuda.cupti.fake_sampled_devices(), "finalizations": cuda.cupti.fake_finalizations()}


def refusals() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda()
    found = {"before CUDA": refused(**sampling(READ))}
    cuda.initialise()
    found["typo"] = refused(**sampling("dram__bytes_read.sums"))
    found["passes"] = refused(**sampling(READ, BUSY))
    cuda.cupti.fake_fail(b"cuptiPmSamplingEnable", 35)
    found["permission"] = refused(**sampling(READ))
    cuda.cupti.fake_fail(b"cuptiPmSamplingEnable", 0)
    cuda.driver.fake_set_capability(80)
    found["device"] = refused(**sampling(READ))
    cuda.driver.fake_set_capability(90)
    cuda.launch()  # lets go of CUPTI
    cuda.cupti.fake_fail(b"cuptiSubscribe", 39)
    found["another tool"] = refused(**sampling(READ))
    cuda.cupti.fake_fail(b"cuptiSubscribe", 0)
    with kg.profile(**sampling(READ)) as p:
        found["second"] = refused(**sampling(READ))
        measured = kg.ExperimentalConfig(profiler_metrics=[READ])
        found["metrics"] = refused(activities=BOTH, experimental_config=measured)
        take(cuda, IGNORED, 1)
    found["first"] = {"type": "", "text": str(values(p.trace))}
    return found


def sessions_one_after_the_other() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    found = []
    for value in (1, 2):
        with kg.profile(**sampling(READ)) as p:
            cuda.launch()
            take(cuda, IGNORED, value)
        found.append([values(p.trace), sum(event.category == "kernel" for event in p.events())])
        with kg.profile(activities=BOTH) as p:
            cuda.launch()
        found.append([values(p.trace), sum(event.category == "kernel" for event in p.events())])
        cuda.launch("between two sessions")
    return {"found": found, "finalizations": cuda.cupti.fake_finalizations()}


def a_session_that_did_not_ask() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    with kg.profile(activities=BOTH) as plain:
        with kg.profile(**sampling(READ)) as sampled:
            take(cuda, IGNORED, 1)
        cuda.launch()
    kernels = sum(event.category == "kernel" for event in plain.events())
    return {"sampled": values(sampled.trace), "plain": values(plain.trace), "kernels": kernels}


def stopped_by_another_thread() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    p = kg.profile(**sampling(READ))
    p.start()
    take(cuda, IGNORED, 1)
    thread = threading.Thread(target=p.stop)
    thread.start()
    thread.join()
    return {"found": values(p.trace), "on": cuda.cupti.fake_sampled_devices()}


def forks() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    with kg.profile(**sampling(READ)) as p:
        take(cuda, IGNORED, 1)
        child = os.fork()
        if child == 0:
            with kg.profile(activities=["cpu"]) as inner, kg.scope("child"):
                pass
            os._exit(0 if [event.name for event in inner.events()] == ["child"] else 1)
        status = os.waitpid(child, 0)[1]
        take(cuda, 2)
    return {"child": status, "found": values(p.trace)}


def killed() -> dict[str, Any]:
    """Leaves a session file behind."""
    import kinetograph as kg

    cuda = Cuda().initialise()
    options = kg.RecordOptions(crash_safe=True, directory=sys.argv[2])
    kg.profile(recording=options, **sampling(READ)).start()
    take(cuda, IGNORED, 1)
    while cuda.cupti.fake_unread_samples(0):
        time.sleep(0.001)
    # What was read last is being told: until the next time it is read, that is over.
    take(cuda, 2)
    while cuda.cupti.fake_unread_samples(0):
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))

"""Hardware metrics of the fake CUDA, in a program of its own: test_cuda_metrics.py runs one of these."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from fake_cuda_program import Cuda, refused, summary

READ = "dram__bytes_read.sum"
BUSY = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
BOTH = ["cpu", "cuda"]


def metrics(*names: str, per_kernel: bool = False) -> Any:
    import kinetograph as kg

    return kg.ExperimentalConfig(profiler_metrics=names, profiler_measure_per_kernel=per_kernel)


def per_kernel() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    wanted = metrics(READ, BUSY, per_kernel=True)
    with kg.profile(activities=BOTH, experimental_config=wanted) as p, kg.scope("step"):
        cuda.counted_launch()
        cuda.launch()
    p.export_chrome_trace(sys.argv[2])
    return summary(p.trace)


def per_scope() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()

    def in_another_thread() -> None:
        with kg.scope("elsewhere"):
            cuda.counted_launch()

    with kg.profile(activities=BOTH, experimental_config=metrics(READ)) as p:
        cuda.counted_launch()
        for _ in range(2):
            with kg.scope("outer"):
                cuda.counted_launch()
                with kg.scope("inner"):
                    cuda.counted_launch()
        thread = threading.Thread(target=in_another_thread)
        thread.start()
        thread.join()
    return summary(p.trace)


def stopped_elsewhere() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    wanted = metrics(READ, per_kernel=True)
    p = kg.profile(activities=BOTH, experimental_config=wanted, all_threads=False)
    p.start()
    cuda.counted_launch()
    stops = threading.Thread(target=p.stop)
    stops.start()
    stops.join()
    return summary(p.trace)


def no_scope() -> dict[str, Any]:
    import kinetograph as kg

    Cuda().initialise()
    with kg.profile(activities=BOTH, experimental_config=metrics(READ)) as p:
        pass
    return summary(p.trace)


def steps() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    traces = []
    with kg.profile(
        activities=BOTH,
        schedule=kg.schedule(wait=1, warmup=1, active=1, repeat=2),
        experimental_config=metrics(READ, per_kernel=True),
        on_trace_ready=lambda p: traces.append(p.trace),
    ) as p:
        for step in range(6):
            cuda.counted_launch(f"step {step}")
            p.step()
    return {"traces": [[e.name for e in t.events if e.category == "cuda_profiler_range"] for t in traces]}


def paused() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    with kg.profile(activities=BOTH, experimental_config=metrics(READ, per_kernel=True)) as p:
        cuda.counted_launch("kept")
        p.toggle_collection_dynamic(False, BOTH)
        cuda.counted_launch("left out")
        p.toggle_collection_dynamic(True, BOTH)
        cuda.counted_launch("kept again")
    return summary(p.trace)


def refusals() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda()
    options: dict[str, Any] = {"activities": BOTH, "experimental_config": metrics(READ, per_kernel=True)}
    found = {"before CUDA": refused(**options)}
    cuda.initialise()
    typo = metrics("dram__bites_read.sum", per_kernel=True)
    found["typo"] = refused(activities=BOTH, experimental_config=typo)
    ending = metrics("dram__bytes_read.sums", per_kernel=True)
    found["ending"] = refused(activities=BOTH, experimental_config=ending)
    found["passes"] = refused(activities=BOTH, experimental_config=metrics(READ, BUSY))
    cuda.cupti.fake_fail(b"cuptiRangeProfilerEnable", 35)
    found["permission"] = refused(**options)
    cuda.cupti.fake_fail(b"cuptiRangeProfilerEnable", 0)
    cuda.cupti.fake_fail(b"cuptiSubscribe", 39)
    found["another tool"] = refused(**options)
    cuda.cupti.fake_fail(b"cuptiSubscribe", 0)
    with kg.profile(activities=BOTH):
        found["records"] = refused(**options)
    with kg.profile(**options) as p:
        found["metrics"] = refused(**options)
        cuda.counted_launch()
    found["sessions"] = {"type": "", "text": str(len(_ranges(p.trace)))}
    return found


def _ranges(trace: Any) -> list[Any]:
    return [event for event in trace.events if event.category == "cuda_profiler_range"]


def records_come_after_metrics() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    counts = []
    for _ in range(2):
        with kg.profile(activities=BOTH, experimental_config=metrics(READ, per_kernel=True)) as p:
            cuda.counted_launch()
        counts.append(len(_ranges(p.trace)))
        with kg.profile(activities=BOTH) as p:
            cuda.launch()
        counts.append(sum(event.category == "kernel" for event in p.events()))
    return {"counts": counts}


def a_session_without_metrics_beside_one_with_them() -> dict[str, Any]:
    import kinetograph as kg

    cuda = Cuda().initialise()
    wanted = metrics(READ, per_kernel=True)
    with (
        kg.profile(activities=BOTH, experimental_config=wanted) as counted,
        kg.profile(activities=["cpu"]) as plain,
    ):
        cuda.counted_launch()
    return {"counted": len(_ranges(counted.trace)), "plain": len(_ranges(plain.trace))}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))

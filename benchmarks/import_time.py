"""What `import` costs: CPU and wall time of `python -c "import x"` over `python -c pass`."""

import os
import statistics
import sys
import time

from benchmarks.harness import is_installed
from benchmarks.report import Claim, claims_table, table

MODULES = ["kinetograph", "numpy", "nvtx", "viztracer", "opentelemetry.sdk.trace", "torch"]


def run(*, quick: bool) -> str:
    present = [module for module in MODULES if is_installed(module.split(".")[0])]
    skipped = [f"skipped: {module} is not installed" for module in MODULES if module not in present]
    samples = interleaved_imports(present, rounds=2 if quick else 15)
    claims = [
        Claim("import kinetograph, ms of CPU", median_cpu_ms(samples[module]), at_most=30)
        for module in present
        if module == "kinetograph"
    ]
    return "\n".join(["# Import time", "", import_table(samples), "", claims_table(claims), *skipped])


def interleaved_imports(modules: list[str], *, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Per module and round, milliseconds of CPU and wall over an interpreter that imports nothing."""
    samples: dict[str, list[tuple[float, float]]] = {module: [] for module in modules}
    for module in modules:
        python_ms(f"import {module}")  # fills the page cache and __pycache__
    for _ in range(rounds):
        empty_cpu, empty_wall = python_ms("pass")
        for module in modules:
            cpu, wall = python_ms(f"import {module}")
            samples[module].append((cpu - empty_cpu, wall - empty_wall))
    return samples


def python_ms(code: str) -> tuple[float, float]:
    start = time.perf_counter()
    child = os.posix_spawn(sys.executable, [sys.executable, "-c", code], os.environ)
    _, _, usage = os.wait4(child, 0)
    wall = time.perf_counter() - start
    return (usage.ru_utime + usage.ru_stime) * 1e3, wall * 1e3


def median_cpu_ms(samples: list[tuple[float, float]]) -> float:
    return statistics.median(cpu for cpu, _ in samples)


def import_table(samples: dict[str, list[tuple[float, float]]]) -> str:
    rows = [
        (
            module,
            f"{median_cpu_ms(pairs):.1f}",
            f"{statistics.median(wall for _, wall in pairs):.1f}",
            f"{min(wall for _, wall in pairs):.1f}",
        )
        for module, pairs in samples.items()
    ]
    return table(("ms over an empty interpreter", "CPU", "wall", "best wall"), rows)

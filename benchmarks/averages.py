"""Reports of a million events: `key_averages`, its table, and folded stacks, beside PyTorch's."""

import statistics
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness import in_fresh_process, is_installed
from benchmarks.recorders import NAMES, PeakMemory, cpu_seconds
from benchmarks.report import Claim, claims_table, table

# PyTorch takes about a minute and 3 GB for a million, so it gets fewer; the figures are per event.
TORCH_SHARE = 10
Figures = dict[str, float]  # CPU seconds by report; "memory" in bytes


def run(*, quick: bool) -> str:
    count, rounds = (20_000, 1) if quick else (1_000_000, 5)
    ours = [in_fresh_process(kinetograph, count) for _ in range(rounds)]
    torch_count = count // TORCH_SHARE
    theirs = [in_fresh_process(torch, torch_count)] if is_installed("torch") else []
    return "\n".join(
        [
            f"# Reports of {count:,} events",
            "",
            figures_table(
                {"kinetograph": (ours, count), f"torch, {torch_count:,} events": (theirs, torch_count)}
            ),
            "",
            claims_table(claims(ours, count, theirs, torch_count)),
            *([] if theirs else ["skipped: torch is not installed"]),
        ]
    )


def kinetograph(count: int) -> Figures:
    """Scopes three deep; the first report pays for who encloses whom, and numpy is loaded before."""
    import numpy as np

    import kinetograph as kg

    def record(count: int) -> Any:
        kg.enable_profiler(kg.ProfilerConfig(), {kg.ActivityType.CPU})
        scopes = [kg.scope(name) for name in NAMES]
        for number in range(count // 3):
            with scopes[number % 100], scopes[(7 * number) % 100], scopes[3]:
                pass
        return kg.disable_profiler().trace

    np.zeros(1)
    record(300).key_averages().table()
    trace = record(count)
    memory = PeakMemory()
    figures: Figures = {}
    figures["key_averages"], averages = cpu_seconds(lambda: trace.key_averages())
    figures["table"], _ = cpu_seconds(lambda: averages.table(sort_by="self_cpu_time_total"))
    figures["by stack"], _ = cpu_seconds(lambda: trace.key_averages(True, 5, include_python=True))
    figures["memory"] = memory.growth_bytes()
    with tempfile.TemporaryDirectory() as folder:
        figures["stacks"], _ = cpu_seconds(lambda: trace.save(Path(folder) / "x.folded"))
    return figures


def torch(count: int) -> Figures:
    from torch._C._profiler import _RecordFunctionFast
    from torch.profiler import ProfilerActivity, profile

    def record(count: int) -> Any:
        with profile(activities=[ProfilerActivity.CPU]) as profiler:
            for number in range(count // 3):
                with (
                    _RecordFunctionFast(NAMES[number % 100]),
                    _RecordFunctionFast(NAMES[(7 * number) % 100]),
                    _RecordFunctionFast(NAMES[3]),
                ):
                    pass
        return profiler

    record(300).key_averages().table()
    profiler = record(count)
    memory = PeakMemory()
    figures: Figures = {}
    figures["key_averages"], averages = cpu_seconds(profiler.key_averages)
    figures["table"], _ = cpu_seconds(lambda: averages.table(sort_by="self_cpu_time_total"))
    figures["memory"] = memory.growth_bytes()
    return figures


def figures_table(contenders: dict[str, tuple[list[Figures], int]]) -> str:
    rows = [
        (
            name,
            *(f"{median(runs, report) / count * 1e6:.3f}" for report in ("key_averages", "table")),
            *(
                f"{median(runs, report) / count * 1e6:.3f}" if report in runs[0] else "-"
                for report in ("by stack", "stacks")
            ),
            f"{median(runs, 'memory') / count:.0f}",
        )
        for name, (runs, count) in contenders.items()
        if runs
    ]
    header = (
        "us of CPU per event",
        "key_averages",
        "its table",
        "by shapes and stack",
        "folded stacks",
        "memory B/event",
    )
    return table(header, rows)


def median(runs: list[Figures], report: str) -> float:
    return statistics.median(run[report] for run in runs)


def claims(ours: list[Figures], count: int, theirs: list[Figures], torch_count: int) -> list[Claim]:
    seconds = median(ours, "key_averages") * 1_000_000 / count
    found = [Claim("key_averages of a million events, seconds", seconds, at_most=0.3)]
    if theirs:
        ratio = median(theirs, "key_averages") / torch_count / (median(ours, "key_averages") / count)
        found.append(Claim("torch.profiler / ours, key_averages per event", ratio, at_least=100))
    return found

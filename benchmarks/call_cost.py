"""What one traced Python call costs the program: ours, the floors, the peers."""

import math
import statistics
import sys
from functools import cache

from benchmarks.harness import Samples, in_fresh_process, interleave, is_installed
from benchmarks.programs import PROGRAMS
from benchmarks.report import Claim, claims_table, table
from benchmarks.traced import ALL_THREADS, BARE, TRACED, sample_name

# The module in `tracers` and what has to be installed for it.
TRACERS = {
    "nothing": "sys",
    "floor": "sys",
    "kinetograph": "kinetograph",
    "viztracer": "viztracer",
    "cprofile": "cProfile",
    "yappi": "yappi",
    "torch": "torch",
}
OURS = "kinetograph"
OURS_WITH_C_CALLS = "kinetograph, C calls"
EXCLUDED = "kinetograph, all excluded"
# What each peer records, so that it is held against ours that records the same.
PEERS = {
    "viztracer": OURS_WITH_C_CALLS,
    "viztracer, ignore_c_function": OURS,
    "cProfile": OURS_WITH_C_CALLS,
    "cProfile, builtins=False": OURS,
    "yappi, wall": OURS,
    "torch.profiler, with_stack": OURS_WITH_C_CALLS,
}


def run(*, quick: bool) -> str:
    present = [tracer for tracer, package in TRACERS.items() if is_installed(package)]
    skipped = [f"skipped: {tracer} is not installed" for tracer in TRACERS if tracer not in present]
    generations, rounds = (1, 3) if quick else (3, 9)
    modules = [f"benchmarks.tracers.{tracer}" for tracer in present]
    samples = interleave(modules, generations=generations, rounds=rounds)
    tables = [line for program in PROGRAMS for line in ("", cost_table(samples, program.name))]
    return "\n".join(["# Cost of a traced call", *tables, "", claims_table(claims(samples)), *skipped])


def tools_in(samples: Samples) -> list[str]:
    names = [name.removesuffix(BARE).partition(" / ")[2] for name in samples.by_name if name.endswith(BARE)]
    return sorted(dict.fromkeys(names), key=place_in_table)


def place_in_table(tool: str) -> tuple[int, str]:
    """No tool, the floors, ours, then the peers."""
    kinds = ("no tool", "floor", OURS)
    return next((place for place, kind in enumerate(kinds) if tool.startswith(kind)), len(kinds)), tool


def cost_table(samples: Samples, program: str) -> str:
    """Quiet: the best round under the tool over the best without, which a busy machine disturbs least."""
    rows = [cost_row(samples, program, tool) for tool in tools_in(samples)]
    header = ("median", "quiet", "all threads", "x floor", "x floor, quiet", "x ours")
    return table((f"{program}: ns of CPU added per call", *header), rows)


def cost_row(samples: Samples, program: str, tool: str) -> tuple[str, ...]:
    name = sample_name(program, tool)
    floor, ours = sample_name(program, floor_of(tool)), sample_name(program, ours_for(tool))
    figures = samples.median(name), quiet(samples, name), samples.median(name + ALL_THREADS)
    ratios = (
        samples.ratio(name, floor),
        quiet(samples, name) / quiet(samples, floor),
        samples.ratio(name, ours) if ours in samples else math.nan,
    )
    return tool, *(f"{figure:.0f}" for figure in figures), *(f"{ratio:.2f}" for ratio in ratios)


def quiet(samples: Samples, name: str) -> float:
    return samples.best(name + TRACED) - samples.best(name + BARE)


def ours_for(tool: str) -> str:
    """Our contender that records what this one records."""
    return PEERS.get(tool, OURS_WITH_C_CALLS if "C calls" in tool else OURS)


def floor_of(tool: str) -> str:
    """The least that the hook takes by which we record the same."""
    if ours_for(tool) == OURS:
        return f"floor: {hook_in_use()}"
    return "floor: profile hook, C calls" if sys.version_info < (3, 12) else "floor: sys.monitoring, C calls"


@cache
def hook_in_use() -> str:
    if sys.version_info >= (3, 12):
        return "sys.monitoring"
    evaluates = is_installed(OURS) and in_fresh_process(uses_eval_frame)
    return "eval-frame hook" if evaluates else "profile hook"


def claims(samples: Samples) -> list[Claim]:
    if OURS not in tools_in(samples):
        return []
    programs = [program.name for program in PROGRAMS]
    promises = [floor_claim, peers_claim]
    if sys.version_info >= (3, 12):
        promises.append(excluded_claim)
    elif hook_in_use() == "eval-frame hook":
        promises.append(viztracer_claim)
    found = [promise(samples, program) for promise in promises for program in programs]
    return [claim for claim in found if claim is not None]


def floor_claim(samples: Samples, program: str) -> Claim:
    floor = floor_of(OURS)
    ratio = samples.ratio(sample_name(program, OURS), sample_name(program, floor))
    return Claim(f"{program}: ours / {floor}", ratio, at_most=1.25)


def peers_claim(samples: Samples, program: str) -> Claim | None:
    """Of the peer that comes closest to ours that records the same."""
    ratios = {
        peer: samples.ratio(sample_name(program, peer), sample_name(program, ours))
        for peer, ours in PEERS.items()
        if sample_name(program, peer) in samples
    }
    if not ratios:
        return None
    peer = min(ratios, key=lambda name: ratios[name])
    return Claim(f"{program}: cheapest peer ({peer}) / {PEERS[peer]}", ratios[peer], at_least=1)


def excluded_claim(samples: Samples, program: str) -> Claim:
    """Not measurable: no more than the rounds without any tool leave uncertain, or a nanosecond."""
    limit = max(1, uncertainty(samples.by_name[sample_name(program, "no tool")]))
    added = samples.median(sample_name(program, EXCLUDED))
    return Claim(f"{program}: ns per excluded call", added, at_most=round(limit, 1))


def uncertainty(figures: list[float]) -> float:
    """Two standard errors of their median, judged by their quartiles since some rounds are far off."""
    lower, _, upper = statistics.quantiles(figures, n=4)
    return 2 * 1.25 * (upper - lower) / 1.35 / math.sqrt(len(figures))


def viztracer_claim(samples: Samples, program: str) -> Claim | None:
    ours, theirs = sample_name(program, OURS), sample_name(program, "viztracer")
    return (
        Claim(f"{program}: ours / viztracer", samples.ratio(ours, theirs), at_most=0.5)
        if theirs in samples
        else None
    )


def uses_eval_frame() -> bool:
    """Whether our sessions evaluate frames themselves."""
    import kinetograph as kg
    from benchmarks.floor import load_hooks

    hooks = load_hooks()
    kg.enable_profiler(kg.ProfilerConfig(with_stack=True), {kg.ActivityType.CPU}, all_threads=True)
    try:
        return bool(hooks.has_eval_frame())
    finally:
        kg.disable_profiler()

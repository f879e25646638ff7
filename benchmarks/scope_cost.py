"""What one named range costs the program: ours, the floors, the peers."""

from benchmarks.floor import nvtx_flags
from benchmarks.harness import Samples, interleave, is_installed
from benchmarks.report import Claim, claims_table, table

MODULES = [
    "floor",
    "kinetograph",
    "kinetograph_untouched",
    "kinetograph_emitting",
    "torch",
    "nvtx",
    "viztracer",
    "opentelemetry",
]
FLOOR_ON = "floor: clock twice, 32 bytes, bound once"
FLOOR_OFF = "floor: empty context manager, bound once"
FLOOR_NVTX = "floor: NVTX push and pop, bound once"

# Ours, what it is held against, and the most (at_most) or least (at_least) that their ratio may be.
PROMISES = [
    ("scope recorded / C context manager with clock", "kg.scope recorded", FLOOR_ON, {"at_most": 1.3}),
    ("scope off / empty C context manager", "kg.scope off", FLOOR_OFF, {"at_most": 1.3}),
    (
        "scope emitted to NVTX / C context manager with NVTX",
        "kg.scope emitted to NVTX",
        FLOOR_NVTX,
        {"at_most": 1.6},
    ),
    *(
        (f"torch {theirs}, {state} / scope {state}", f"torch {theirs}, {state}", f"kg.scope {state}", limit)
        for theirs, limit in (("_RecordFunctionFast", {"at_least": 4}), ("record_function", {"at_least": 40}))
        for state in ("recorded", "off")
    ),
]


def run(*, quick: bool) -> str:
    present = [module for module in MODULES if has_its_tool(module)]
    skipped = [f"skipped: {module} is not installed" for module in MODULES if module not in present]
    generations, rounds = (1, 3) if quick else (3, 15)
    modules = [f"benchmarks.contenders.{module}" for module in present]
    samples = interleave(modules, generations=generations, rounds=rounds)
    return "\n".join(["# Scope cost", "", cost_table(samples), "", claims_table(claims(samples)), *skipped])


def has_its_tool(module: str) -> bool:
    if module == "kinetograph_emitting":
        return bool(nvtx_flags())
    return module == "floor" or is_installed(module.removesuffix("_untouched"))


def cost_table(samples: Samples) -> str:
    rows = [cost_row(samples, name) for name in samples.by_name]
    return table(("ns of thread CPU over an empty loop", "median", "best", "x floor"), rows)


def cost_row(samples: Samples, name: str) -> tuple[str, ...]:
    median, best, ratio = samples.median(name), samples.best(name), samples.ratio(name, FLOOR_ON)
    return name, f"{median:.0f}", f"{best:.0f}", f"{ratio:.2f}"


def claims(samples: Samples) -> list[Claim]:
    return [
        Claim(text, samples.ratio(one, other), **limit)
        for text, one, other, limit in PROMISES
        if one in samples and other in samples
    ]

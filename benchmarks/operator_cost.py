"""What an operator of torch costs more while it is recorded: by us, a bare callback, torch.profiler."""

from benchmarks.harness import Samples, interleave, is_installed
from benchmarks.report import Claim, claims_table, table

# Each lives in a process of its own, and so is compared with nobody in that.
NOBODY = {
    "bare callback": "nobody",
    "kinetograph": "nobody, after our sessions",
    "torch.profiler": "nobody, after torch's sessions",
}
SHAPES = ("", ", with shapes")
TRAINING = ", training step"


def run(*, quick: bool) -> str:
    if not is_installed("torch"):
        return "# Operator cost\n\nskipped: torch is not installed"
    generations, rounds = (1, 3) if quick else (3, 15)
    modules = [f"benchmarks.operators.{module}" for module in ("bare", "ours", "torchs")]
    samples = added(interleave(modules, generations=generations, rounds=rounds))
    tables = [cost_table(samples), training_table(samples), claims_table(claims(samples))]
    return "\n\n".join(["# Operator cost", *tables])


def added(samples: Samples) -> Samples:
    """Over an operator, or a step, that nobody watches, of the same round."""
    over = Samples()
    for name, values in samples.by_name.items():
        nobody = NOBODY.get(name.split(",")[0])
        if nobody is None:
            over.by_name[name] = values
            continue
        bare = samples.by_name[nobody + (TRAINING if name.endswith(TRAINING) else "")]
        over.by_name[name] = [value - least for value, least in zip(values, bare, strict=True)]
    return over


def cost_table(samples: Samples) -> str:
    names = [name for name in samples.by_name if not name.endswith(TRAINING)]
    rows = [(name, f"{samples.median(name):.0f}", f"{samples.quiet(name):.0f}") for name in names]
    return table(("ns of thread CPU per operator, added by tools", "median", "quiet"), rows)


def training_table(samples: Samples) -> str:
    names = [name for name in samples.by_name if name.endswith(TRAINING)]
    rows = [(name, f"{samples.median(name) / 1e6:.2f}", f"{samples.quiet(name) / 1e6:.2f}") for name in names]
    return table(("ms of thread CPU per step, added by tools", "median", "quiet"), rows)


def claims(samples: Samples) -> list[Claim]:
    return [
        *(
            Claim(
                f"kinetograph / bare callback{what}",
                samples.ratio(f"kinetograph{what}", f"bare callback{what}"),
                at_most=1.6,
            )
            for what in ("", TRAINING)
        ),
        *(
            Claim(
                f"kinetograph / torch.profiler{what}",
                samples.ratio(f"kinetograph{what}", f"torch.profiler{what}"),
                at_most=limit,
            )
            # In a step the bare callback takes half of torch.profiler's.
            for shapes in SHAPES
            for what, limit in ((shapes, 0.5), (shapes + TRAINING, 0.75))
        ),
        Claim(
            "kinetograph / torch.profiler, execution trace",
            samples.ratio("kinetograph, execution trace", "torch.profiler, execution trace"),
            at_most=0.25,
        ),
    ]

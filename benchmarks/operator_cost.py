"""What an operator of torch costs more while it is recorded: by us, a bare callback, torch.profiler."""

from benchmarks.harness import Samples, interleave, is_installed
from benchmarks.report import Claim, claims_table, table

TOOLS = ("bare callback", "kinetograph", "torch.profiler")
SHAPES = ("", ", with shapes")


def run(*, quick: bool) -> str:
    if not is_installed("torch"):
        return "# Operator cost\n\nskipped: torch is not installed"
    generations, rounds = (1, 3) if quick else (3, 15)
    modules = [f"benchmarks.operators.{module}" for module in ("bare", "ours", "torchs")]
    samples = added(interleave(modules, generations=generations, rounds=rounds))
    return "\n".join(["# Operator cost", "", cost_table(samples), "", claims_table(claims(samples))])


def added(samples: Samples) -> Samples:
    """Over an operator that nobody watches, of the same round."""
    over = Samples()
    for name, values in samples.by_name.items():
        for value, nobody in zip(values, samples.by_name["nobody"], strict=True):
            over.add(name, value - nobody if name.startswith(TOOLS) else value)
    return over


def cost_table(samples: Samples) -> str:
    rows = [(name, f"{samples.median(name):.0f}", f"{samples.quiet(name):.0f}") for name in samples.by_name]
    return table(("ns of thread CPU per operator, added by tools", "median", "quiet"), rows)


def claims(samples: Samples) -> list[Claim]:
    bare = samples.ratio("kinetograph", "bare callback")
    return [
        Claim("kinetograph / bare callback", bare, at_most=1.6),
        *(
            Claim(
                f"kinetograph / torch.profiler{shapes}",
                samples.ratio(f"kinetograph{shapes}", f"torch.profiler{shapes}"),
                at_most=0.5,
            )
            for shapes in SHAPES
        ),
        Claim(
            "kinetograph / torch.profiler, execution trace",
            samples.ratio("kinetograph, execution trace", "torch.profiler, execution trace"),
            at_most=0.25,
        ),
    ]

"""What a range costs that C code makes by NVTX, on its way through our injection to the recorder."""

from benchmarks.floor import nvtx_flags
from benchmarks.harness import Samples, interleave
from benchmarks.report import Claim, claims_table, table

OWN = "C table: begin and end, recorded"

# A range by the injection is one by the table, and besides it both ways: a call by NVTX's pointer and one by
# ours, and the stack of its domain, for NVTX says at the pop neither what ends nor what was told of it. That
# is as much again. A text that was not registered is also looked for among those that the thread used lately.
PROMISES = [
    ("NVTX push and pop / C table", "NVTX: push and pop, recorded", 3.2),
    ("NVTX registered text / C table", "NVTX: registered text in a domain, recorded", 2.6),
    ("NVTX push and pop, nobody records / C table", "NVTX: push and pop, nobody records", 1.2),
]


def run(*, quick: bool) -> str:
    if not nvtx_flags():
        return "# Annotation cost\n\nskipped: the headers of NVTX are not installed"
    generations, rounds = (1, 3) if quick else (3, 15)
    samples = interleave(["benchmarks.contenders.annotations"], generations=generations, rounds=rounds)
    claims = [Claim(text, samples.ratio(name, OWN), at_most=most) for text, name, most in PROMISES]
    return "\n".join(["# Annotation cost", "", cost_table(samples), "", claims_table(claims)])


def cost_table(samples: Samples) -> str:
    rows = [
        (name, f"{samples.median(name):.0f}", f"{samples.best(name):.0f}", f"{samples.ratio(name, OWN):.2f}")
        for name in samples.by_name
    ]
    return table(("ns of thread CPU per range", "median", "best", "x C table"), rows)

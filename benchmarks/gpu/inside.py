"""What records inside a kernel cost, beside Proton's and records between fences."""

from __future__ import annotations

import os

from benchmarks.gpu import describe_gpu
from benchmarks.gpu.inside_ours import CLAIMED, FENCED, NOTHING, OURS
from benchmarks.gpu.inside_proton import PROTON
from benchmarks.gpu.inside_runs import KERNELS, ON_HOST, blocks_of, records_per_block
from benchmarks.harness import Samples, interleave
from benchmarks.report import Claim, claims_table, table

ROWS = (NOTHING, CLAIMED, OURS, PROTON, FENCED)


def run(*, quick: bool) -> str:
    if quick:
        os.environ["KINETOGRAPH_BENCH_LAUNCHES"] = "3"
    modules = ["benchmarks.gpu.inside_ours", "benchmarks.gpu.inside_proton"]
    samples = interleave(modules, generations=1, rounds=2 if quick else 12)
    parts = ["# Records inside a kernel", describe_gpu()]
    parts += [kernel_table(samples, kernel) for kernel in KERNELS]
    parts.append("ns per record: what a launch takes longer, times the number of SMs, over that of records.")
    parts.append(claims_table([claim for kernel in KERNELS for claim in claims_of(samples, kernel)]))
    return "\n\n".join(parts)


def kernel_table(samples: Samples, kernel: str) -> str:
    header = (kernel, "us on the GPU", "added", "ns per record", "us of the host", "added on the host")
    return table(header, [row(samples, kernel, tool) for tool in ROWS])


def row(samples: Samples, kernel: str, tool: str) -> tuple[str, ...]:
    name = f"{kernel}: {tool}"
    percent = f"{(samples.ratio(name, f'{kernel}: {NOTHING}') - 1) * 100:+.2f} %"
    on_host = samples.median(name + ON_HOST)
    return (
        tool,
        f"{samples.median(name):.2f}",
        percent,
        f"{ns_per_record(samples, kernel, tool):.2f}",
        f"{on_host:.1f}",
        f"{added_on_host(samples, kernel, tool):.1f}",
    )


def added_us(samples: Samples, kernel: str, tool: str) -> float:
    bare = samples.median(f"{kernel}: {NOTHING}")
    return bare * (samples.ratio(f"{kernel}: {tool}", f"{kernel}: {NOTHING}") - 1)


def ns_per_record(samples: Samples, kernel: str, tool: str) -> float:
    import torch

    processors = torch.cuda.get_device_properties(0).multi_processor_count
    records = blocks_of(kernel) * records_per_block(kernel)
    return added_us(samples, kernel, tool) * 1e3 * processors / records


def added_on_host(samples: Samples, kernel: str, tool: str) -> float:
    return samples.median(f"{kernel}: {tool}{ON_HOST}") - samples.median(f"{kernel}: {NOTHING}{ON_HOST}")


def claims_of(samples: Samples, kernel: str) -> list[Claim]:
    mine = f"{kernel}: {OURS}"
    slower = [
        Claim(f"{kernel}: ours / {other}", samples.ratio(mine, f"{kernel}: {other}"), at_most=1)
        for other in (PROTON, FENCED)
    ]
    added = added_on_host(samples, kernel, OURS)
    return [*slower, Claim(f"{kernel}: us added to a launch on the host", added, at_most=5)]

"""What records add to loops, counted in machine code: `python tests/unit/intra_kernel/record_costs.py`.

Beside the plainest record in the same loop: without a check of bounds, without a loss that is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import triton
from cuda_compilers import by_nvcc
from kernels import matmul
from machine_code import MachineCode, compiled, disassembled

NOT_THERE = -1
CAPABILITIES = [80, 90, 100]
VERSION = tuple(int(part) for part in triton.__version__.split(".")[:2])
POINTERS = {"buffer": "*i64", **dict.fromkeys("abc", "*fp16"), "n": "i32", "k": "i32"}
SIZES = {"ROWS": 128, "COLUMNS": 128, "DEPTH": 64}


@dataclass(frozen=True)
class Cost:
    """`registers` are those of the kernel, and of the one without records."""

    instructions_per_record: float
    registers: tuple[int, int]


@cache
def matmul_code(records: int, capability: int, is_least: bool = False) -> MachineCode:
    return compiled(matmul, POINTERS, {"RECORDS": records, **SIZES, "LEAST": is_least}, capability)


@cache
def sums_code(records: int, capability: int, is_least: bool = False) -> MachineCode:
    """Of CUDA C++; two records, or none."""
    name = "least_sums" if is_least else "sums"
    return disassembled(by_nvcc(min(records, 1), capability), kernel=name)


def matmul_cost(records: int, capability: int, is_least: bool = False) -> Cost:
    plain, profiled = matmul_code(NOT_THERE, capability), matmul_code(records, capability, is_least)
    more = len(profiled.loop) - len(plain.loop)
    return Cost(more / records, (profiled.registers, plain.registers))


def sums_cost(records: int, capability: int, is_least: bool = False) -> Cost:
    plain, profiled = sums_code(NOT_THERE, capability), sums_code(records, capability, is_least)
    more = len(profiled.loop_with("LDG")) - len(plain.loop_with("LDG"))
    return Cost(more / records, (profiled.registers, plain.registers))


def can_pipeline(capability: int) -> bool:
    """Triton before 3.9 pipelines no loop of products for sm_100 with a record in it."""
    return capability < 100 or VERSION >= (3, 9)


def table() -> list[str]:
    rows = [
        ["Loop", "GPU", "Records", "Instructions per record", "plainest", "Registers (none)", "plainest"],
        ["---"] * 7,
    ]
    name = f"Triton {triton.__version__}, matmul"
    for capability in filter(can_pipeline, CAPABILITIES):
        rows += [_row(name, capability, records, matmul_cost) for records in (2, 4)]
    rows += [_row("CUDA C++, sums", capability, 2, sums_cost) for capability in CAPABILITIES]
    return [f"| {' | '.join(row)} |" for row in rows]


def _row(name: str, capability: int, records: int, cost) -> list[str]:  # type: ignore[no-untyped-def]
    ours, least = cost(records, capability), cost(records, capability, is_least=True)
    instructions = [f"{one.instructions_per_record:g}" for one in (ours, least)]
    registers = f"{ours.registers[0]} ({ours.registers[1]})"
    return [name, f"sm_{capability}", str(records), *instructions, registers, str(least.registers[0])]


if __name__ == "__main__":
    print("\n".join(table()))

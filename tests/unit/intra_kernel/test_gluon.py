"""Kernels in Gluon take the same records, by warps and by partitions of warps."""

import pytest

pytest.importorskip("triton")

import triton
from gluon_kernels import copy_by_partitions, copy_by_warps
from triton.backends.compiler import GPUTarget
from triton.experimental.gluon._runtime import GluonASTSource

POINTERS = {"buffer": "*i64", "source": "*fp32", "target": "*fp32"}


def instructions(kernel: object, constants: dict[str, int], capability: int) -> str:
    names = kernel.arg_names  # type: ignore[attr-defined]
    signature = {**POINTERS, **dict.fromkeys(constants, "constexpr")}
    values = {(names.index(name),): value for name, value in constants.items()}
    source = GluonASTSource(kernel, signature, constexprs=values)
    made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": 4})
    return str(made.asm["ptx"])


@pytest.mark.parametrize("capability", [90, 100])
def test_a_kernel_in_gluon_records_by_warps(capability: int) -> None:
    text = instructions(copy_by_warps, {"SIZE": 128, "WARPS": 4}, capability)
    assert text.count("atom.global.add.u64") == 1
    assert text.count("%globaltimer") == 3  # a segment, a start and a mark


@pytest.mark.parametrize("capability", [90, 100])
def test_each_partition_of_warps_has_records_of_its_own(capability: int) -> None:
    text = instructions(copy_by_partitions, {"SIZE": 128}, capability)
    assert text.count("atom.global.add.u64") == 2
    assert text.count("%globaltimer") == 4

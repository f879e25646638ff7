"""Where the stores of random kernels go: never beside their segment, and in the order of the program."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("triton")

import triton
from emulated_run import ELSEWHERE, EmulatedRun
from kernels import matmul
from machine_code import compiled
from random_kernels import RandomKernel
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from kinetograph.intra_kernel import layout

NUMBERS = (0, 5, 14, 63)
SEGMENT_SLOTS = (8, 16, 128, 4096)


def ptx_of(kernel: RandomKernel, folder: Path, capability: int) -> str:
    path = folder / "made_kernel.py"
    path.write_text(kernel.text)
    source = ASTSource(module_at(path).kernel, {"buffer": "*i64", "source": "*fp32", "number": "i32"}, {}, {})
    with triton.knobs.compilation.scope():
        triton.knobs.compilation.disable_line_info = True
        made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": 1})
    ptx: str = made.asm["ptx"]
    return ptx


def module_at(path: Path) -> ModuleType:
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", range(8))
def test_records_of_any_program_stay_in_their_segment_and_in_order(seed: int, tmp_path: Path) -> None:
    kernel = RandomKernel(seed)
    ptx = ptx_of(kernel, tmp_path, (80, 90)[seed % 2])
    for number in NUMBERS:
        expected = kernel.expected(number)
        for slots in SEGMENT_SLOTS:
            check(EmulatedRun(ptx, slots, "kernel", None, ELSEWHERE, number), expected)


@pytest.mark.parametrize("capability", [80, 90])
def test_records_in_a_pipelined_loop_do_so_as_well(capability: int) -> None:
    sizes = {"RECORDS": 4, "ROWS": 64, "COLUMNS": 64, "DEPTH": 32}
    pointers = {"buffer": "*i64", **dict.fromkeys("abc", "*fp16"), "n": "i32", "k": "i32"}
    ptx = compiled(matmul, pointers, sizes, capability).ptx
    for steps in (1, 2, 5, 20):
        inside = [layout.KIND_START, layout.KIND_END, layout.KIND_START | 1 << 2, layout.KIND_END | 1 << 2]
        tags = inside * steps + [layout.KIND_START | 2 << 2, layout.KIND_END | 2 << 2]
        for slots in SEGMENT_SLOTS:
            run = EmulatedRun(ptx, slots, "matmul", None, *[ELSEWHERE] * 3, 64, steps * 32)
            check(run, [(tag, 0) for tag in tags])


def check(run: EmulatedRun, expected: list[tuple[int, int]]) -> None:
    assert run.stores_outside() == []
    found = run.records()
    assert found == expected[: len(found)]
    usable = run.slots - layout.SEGMENT_HEADER_SLOTS - layout.TAIL_SLOTS
    # Where more comes than there is room for, the last slot before the tail's others is written over as well.
    assert len(found) >= (len(expected) if len(expected) <= usable else usable - 1)
    lost = len(expected) - len(found)
    notes = [note for note in run.notes() if not note.startswith("unbalanced")]
    assert len(notes) == (lost > 0)
    for note in notes:
        assert int(re.findall(r"about (\d+)", note)[0]) == pytest.approx(lost, rel=0.03, abs=1)

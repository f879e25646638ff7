"""What records cost in machine code, and where they stand in it. Triton brings the compiler."""

from functools import cache

import pytest

pytest.importorskip("triton")

import triton
from kernels import copy, matmul, specialised_matmul, waiting
from machine_code import MachineCode, compiled, opcodes, positions

NOT_THERE, OFF = -1, 0
VERSION = tuple(int(part) for part in triton.__version__.split(".")[:2])
HALF = dict.fromkeys("abc", "*fp16")
MATMUL = {"buffer": "*i64", **HALF, "n": "i32", "k": "i32"}
COPY = {"buffer": "*i64", "source": "*fp16", "target": "*fp16", "task": "i32", "count": "i32"}


@cache
def matmul_code(records: int, capability: int) -> MachineCode:
    sizes = {"ROWS": 128, "COLUMNS": 128, "DEPTH": 64}
    return compiled(matmul, MATMUL, {"RECORDS": records, **sizes}, capability)


@cache
def copy_code(records: int, capability: int) -> MachineCode:
    return compiled(copy, COPY, {"SIZE": 1024, "RECORDS": records}, capability)


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_a_profiler_that_is_off_leaves_the_machine_code_as_it_was(capability: int) -> None:
    """For sm_100 the assembler numbers registers by chance: of one text it makes two machine codes."""
    for code in (matmul_code, copy_code):
        off, not_there = code(OFF, capability), code(NOT_THERE, capability)
        assert off.ptx == not_there.ptx != ""
        assert off.cubin == not_there.cubin or capability == 100


@pytest.mark.parametrize("records", [2, 4])
def test_a_pair_of_records_in_a_pipelined_loop_is_nine_instructions(records: int) -> None:
    """And two more in all, or fewer: the compiler moves and loads again as it likes, with us and without."""
    plain, profiled = matmul_code(NOT_THERE, 90).loop, matmul_code(records, 90).loop
    more = opcodes(profiled) - opcodes(plain)
    own = {"CS2R": 1, "CS2R.32": 2, "STG.E.128": 1, "STG.E.64": 1, "VIADD": 2, "VIADDMNMX.U32": 2}
    assert {name: more[name] for name in own} == {name: count * records // 2 for name, count in own.items()}
    assert len(profiled) - len(plain) <= 4.5 * records + 2


@pytest.mark.parametrize("records", [2, 4])
def test_as_many_blocks_fit_on_an_sm_with_records_as_without(records: int) -> None:
    profiled = matmul_code(records, 90)
    registers_of_block = -(-profiled.registers // 8) * 8 * 32 * 8
    blocks_by_shared_memory = 227 * 1024 // (profiled.shared_bytes + 1024)
    assert blocks_by_shared_memory == 2
    assert 65536 // registers_of_block >= blocks_by_shared_memory


@pytest.mark.parametrize("capability", [80, 90])
def test_a_loop_with_records_is_pipelined_as_before(capability: int) -> None:
    plain, profiled = matmul_code(NOT_THERE, capability), matmul_code(4, capability)
    assert plain.count("LDGSTS") > 0
    assert profiled.shared_bytes == plain.shared_bytes
    for part in ("LDGSTS", "LDGDEPBAR", "DEPBAR", "BAR.SYNC", "MEMBAR", "ERRBAR", "MMA"):
        assert profiled.count(part) == plain.count(part), part


def test_stamps_stand_before_and_behind_the_work_of_a_pipelined_loop() -> None:
    loop = matmul_code(2, 90).loop
    start, end = positions(loop, "SR_CLOCKLO")
    products = positions(loop, "HGMMA")
    assert start < min(products) <= max(products) < end
    # What the products wait for, and the wait for them, lie between as well.
    assert start < min(positions(loop, "DEPBAR.LE SB0"))
    assert max(positions(loop, "WARPGROUP.DEPBAR")) < end


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_stamps_stand_before_and_behind_straight_work(capability: int) -> None:
    code = copy_code(1, capability).instructions
    _claimed, start, arrived, _scaled, end = positions(code, "SR_CLOCKLO")
    # Four halves a thread; records of marks and payloads are wider, and that of the end is behind its stamp.
    assert len([load for load in positions(code, "LDG.E.64") if start < load < arrived]) == 1
    assert len([store for store in positions(code, "STG.E.64") if arrived < store < end]) == 1


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_a_record_after_a_value_is_stamped_when_the_value_is_there(capability: int) -> None:
    pointers = {"buffer": "*i64", "source": "*i32", "target": "*i32"}
    code = compiled(waiting, pointers, {}, capability).instructions
    [stored] = positions(code, "STG.E.128.STRONG")
    _claimed, stamped = positions(code, "SR_CLOCKLO")
    assert positions(code, "LDG.E")[-1] < stored < stamped


def test_every_store_of_a_record_is_predicated_and_none_is_fenced() -> None:
    code = matmul_code(4, 90)
    records = [line for line in code.loop if "STG" in line]
    assert len(records) == 4
    assert all(line.startswith("@") for line in records)
    assert code.count("MEMBAR") == matmul_code(NOT_THERE, 90).count("MEMBAR")


@pytest.mark.skipif(VERSION < (3, 9), reason="Triton before 3.9 specialises no loop with a record in it")
def test_a_loop_whose_warps_are_specialised_takes_records() -> None:
    sizes = {"ROWS": 128, "COLUMNS": 128, "DEPTH": 64}
    code = compiled(specialised_matmul, MATMUL, sizes, 100)
    assert code.count("USETMAXREG") > 0  # warps that do different work have different numbers of registers
    assert code.count("SR_CLOCKLO") >= 3

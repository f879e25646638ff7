"""What records cost in machine code, and where they stand in it. Triton brings the compiler."""

import re
from functools import cache

import pytest

pytest.importorskip("triton")

from kernels import copy, rows, specialised_matmul, waiting
from machine_code import MachineCode, assembled_for_100, can_fix_addresses, compiled, opcodes, positions
from record_costs import NOT_THERE, POINTERS, SIZES, VERSION, can_pipeline, matmul_code, matmul_cost

OFF = 0
ROWS = {"buffer": "*i64", "number": "i32"}
COPY = {"buffer": "*i64", "source": "*fp16", "target": "*fp16", "task": "i32", "count": "i32"}


every_capability = pytest.mark.parametrize(
    "capability",
    [
        pytest.param(
            number,
            marks=pytest.mark.skipif(
                not can_pipeline(number),
                reason="Triton before 3.9 pipelines no loop with a record for sm_100",
            ),
        )
        for number in (80, 90, 100)
    ],
)


@cache
def copy_code(records: int, capability: int) -> MachineCode:
    return compiled(copy, COPY, {"SIZE": 1024, "RECORDS": records}, capability)


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_a_profiler_that_is_off_leaves_the_machine_code_as_it_was(capability: int) -> None:
    for code in (matmul_code, copy_code):
        off, not_there = code(OFF, capability), code(NOT_THERE, capability)
        assert off.ptx == not_there.ptx != ""
        if capability < 100:
            assert off.cubin == not_there.cubin
        elif can_fix_addresses():
            assert assembled_for_100(off.ptx) == assembled_for_100(not_there.ptx)


@pytest.mark.parametrize("records", [2, 4])
def test_records_in_a_pipelined_loop_share_one_look_at_the_bounds(records: int) -> None:
    plain, profiled = matmul_code(NOT_THERE, 90).loop, matmul_code(records, 90).loop
    more = opcodes(profiled) - opcodes(plain)
    pairs = records // 2
    own = {"CS2R": pairs, "CS2R.32": records, "STG.E.128": pairs, "STG.E.64": pairs, "VIADD": records}
    assert {name: more[name] for name in own} == own
    assert more["VIADDMNMX.U32"] == 1


@pytest.mark.parametrize("records", [2, 4])
@every_capability
def test_a_record_in_a_pipelined_loop_is_four_and_a_half_instructions_at_most(
    capability: int, records: int
) -> None:
    """For sm_80 the assembler may add two to a loop: a NOP before the clock, and an address loaded again."""
    allowed = 4.5 * records + (2 if capability == 80 else 0)
    assert matmul_cost(records, capability).instructions_per_record * records <= allowed


@every_capability
def test_more_records_take_no_more_registers(capability: int) -> None:
    """Than the plainest do: to stand between load and dot keeps all of a tile in registers."""
    [two, four] = [
        matmul_cost(records, capability).registers[0]
        - matmul_cost(records, capability, is_least=True).registers[0]
        for records in (2, 4)
    ]
    assert max(two, four) <= 6
    if capability == 90:
        assert matmul_cost(4, 90).registers <= matmul_cost(2, 90).registers


def test_a_row_of_records_is_no_longer_than_the_tail() -> None:
    """Five marks, a payload and its mark, one in a branch; the one behind it looks again, like the fifth."""
    text = compiled(rows, ROWS, {}, 90).ptx
    bytes_behind = [int(number) for number in re.findall(r"st\S+ \[%\w+\+(\d+)\], {", text)]
    assert bytes_behind == [0, 16, 32, 48, 0, 16, 32, 48, 0]
    assert text.count("min.u32") == 3  # behind the fourth, the seventh and the eighth


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
    code = compiled(specialised_matmul, POINTERS, SIZES, 100)
    assert code.count("USETMAXREG") > 0  # warps that do different work have different numbers of registers
    assert code.count("SR_CLOCKLO") >= 3

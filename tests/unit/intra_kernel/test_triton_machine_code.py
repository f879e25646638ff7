"""What records cost in machine code, and where they stand in it. Triton brings the compiler: no GPU here."""

from functools import cache

import pytest

pytest.importorskip("triton")

from kernels import copy, matmul, waiting
from machine_code import MachineCode, compiled, opcodes, positions

NOT_THERE, OFF = -1, 0
HALF = dict.fromkeys("abc", "*fp16")
MATMUL = {"buffer": "*i64", **HALF, "m": "i32", "n": "i32", "k": "i32"}
COPY = {"buffer": "*i64", "source": "*fp32", "target": "*fp32", "task": "i32", "count": "i32"}


@cache
def matmul_code(records: int, capability: int) -> MachineCode:
    sizes = {"ROWS": 128, "COLUMNS": 128, "DEPTH": 64}
    return compiled(matmul, MATMUL, {"RECORDS": records, **sizes}, capability)


@cache
def copy_code(records: int, capability: int) -> MachineCode:
    return compiled(copy, COPY, {"SIZE": 1024, "RECORDS": records}, capability)


def allocated(registers: int) -> int:
    """Threads get registers by eights."""
    return -(-registers // 8) * 8


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_a_profiler_that_is_off_leaves_the_machine_code_as_it_was(capability: int) -> None:
    assert matmul_code(OFF, capability).cubin == matmul_code(NOT_THERE, capability).cubin
    assert copy_code(OFF, capability).cubin == copy_code(NOT_THERE, capability).cubin


@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize("records", [2, 4])
def test_a_record_in_a_pipelined_loop_costs_four_and_a_half_instructions(
    records: int, capability: int
) -> None:
    plain, profiled = matmul_code(NOT_THERE, capability), matmul_code(records, capability)
    assert len(profiled.loop) - len(plain.loop) <= 4.5 * records


@pytest.mark.parametrize("records", [2, 4])
def test_of_a_pair_of_records_nine_instructions_are_its_own(records: int) -> None:
    """The compiler moves registers about as it likes, with or without us; this does not depend on it."""
    more = opcodes(matmul_code(records, 90).loop) - opcodes(matmul_code(NOT_THERE, 90).loop)
    pairs = records // 2
    own = {"CS2R": 1, "CS2R.32": 2, "STG.E.128": 1, "STG.E.64": 1, "VIADD": 2, "VIADDMNMX.U32": 2}
    assert {name: more[name] for name in own} == {name: count * pairs for name, count in own.items()}
    assert set(more) - set(own) <= {"LDC", "IMAD.MOV.U32"}


@pytest.mark.parametrize(("records", "capability"), [(2, 80), (2, 90), (4, 90)])
def test_records_take_no_more_registers(records: int, capability: int) -> None:
    plain, profiled = matmul_code(NOT_THERE, capability), matmul_code(records, capability)
    assert allocated(profiled.registers) <= allocated(plain.registers)


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
    loads, stores = positions(code, "LDG.E.128"), positions(code, "STG.E.128 desc")
    assert len(loads) == 1
    assert start < loads[0] < arrived
    assert any(arrived < store < end for store in stores)


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_a_record_after_a_value_is_stamped_when_the_value_is_there(capability: int) -> None:
    pointers = {"buffer": "*i64", "source": "*i32", "target": "*i32"}
    code = compiled(waiting, pointers, {"AFTER": True}, capability).instructions
    [stored] = positions(code, "STG.E.128.STRONG")
    _claimed, stamped = positions(code, "SR_CLOCKLO")
    assert positions(code, "LDG.E")[-1] < stored < stamped


def test_every_store_of_a_record_is_predicated_and_none_is_fenced() -> None:
    code = matmul_code(4, 90)
    records = [line for line in code.loop if "STG" in line]
    assert len(records) == 4
    assert all(line.startswith("@") for line in records)
    assert "MEMBAR" not in code.text

"""What records cost in CUDA C++, and where they stand. Triton brings the disassembler."""

from collections.abc import Callable
from functools import cache

import pytest

pytest.importorskip("triton")

from cuda_compilers import SOURCE, by_nvcc, by_nvrtc, compile_text
from machine_code import MachineCode, disassembled, opcodes, positions

from kinetograph.intra_kernel.cuda import cuda_source

NOT_THERE, OFF, ON = -1, 0, 1
Compiler = Callable[..., bytes]
compilers = pytest.mark.parametrize("compiler", [by_nvcc, by_nvrtc])


@cache
def code(compiler: Compiler, kernel: str, records: int, capability: int = 90) -> MachineCode:
    return disassembled(compiler(records, capability), kernel=kernel)


@compilers
@pytest.mark.parametrize("capability", [80, 90, 100])
def test_a_profiler_that_is_off_leaves_the_machine_code_as_it_was(
    compiler: Compiler, capability: int
) -> None:
    for kernel in ("steps", "sums"):
        off, plain = (code(compiler, kernel, records, capability) for records in (OFF, NOT_THERE))
        assert (off.text, off.registers) == (plain.text, plain.registers)


def test_not_a_byte_of_a_file_tells_that_a_profiler_was_off() -> None:
    assert by_nvcc(OFF, 90) == by_nvcc(NOT_THERE, 90)


def test_one_switch_turns_all_profilers_off() -> None:
    kernel = """extern "C" __global__ void kernel(void* buffer) {
        kinetograph::Profiler<> profiler(buffer);
        kinetograph::Scope<> whole(profiler, 1);
    }"""
    switch = "-DKINETOGRAPH_PROFILING=0"
    [on, off] = [
        disassembled(compile_text(cuda_source() + kernel, "-arch=sm_90", *options))
        for options in ([], [switch])
    ]
    assert on.count("STG") > 0
    assert off.count("STG") == 0


@compilers
@pytest.mark.parametrize(("capability", "instructions"), [(80, 13), (90, 11), (100, 11)])
def test_a_pair_of_records_in_a_loop_is_so_many_instructions(
    compiler: Compiler, capability: int, instructions: int
) -> None:
    """Two of them move the high word of an address; sm_80 needs two more, to add and to compare."""
    plain, recorded = (
        code(compiler, "sums", records, capability).loop_with("LDG") for records in (NOT_THERE, ON)
    )
    assert len(recorded) - len(plain) <= instructions


@compilers
def test_a_pair_of_records_in_a_loop_is_nine_instructions_and_two_moves(compiler: Compiler) -> None:
    plain, recorded = (code(compiler, "sums", records).loop_with("LDG") for records in (NOT_THERE, ON))
    more = opcodes(recorded) - opcodes(plain)
    own = {"CS2R": 1, "CS2R.32": 2, "STG.E.128": 1, "STG.E.64": 1, "VIADDMNMX.U32": 2}
    assert {name: more[name] for name in own} == own
    assert len(recorded) - len(plain) <= 11


@compilers
@pytest.mark.parametrize("capability", [80, 90, 100])
def test_stamps_stand_before_and_behind_the_work(compiler: Compiler, capability: int) -> None:
    loop = code(compiler, "sums", ON, capability).loop_with("LDG")
    start, end = positions(loop, "SR_CLOCKLO")
    [load] = positions(loop, "LDG")
    assert start < load < end


@compilers
@pytest.mark.parametrize("capability", [80, 90, 100])
def test_a_record_after_a_value_is_stamped_when_the_value_is_there(
    compiler: Compiler, capability: int
) -> None:
    found = code(compiler, "steps", ON, capability).instructions
    _claimed, _start, stamped, *_others = positions(found, "SR_CLOCKLO")
    stored = positions(found, "STG.E.128.STRONG")[0]
    assert positions(found, "LDG.E")[-1] < stored < stamped


@compilers
def test_every_store_of_a_record_is_predicated_and_none_is_fenced(compiler: Compiler) -> None:
    found = code(compiler, "sums", ON)
    stores = [line for line in found.loop_with("LDG") if "STG" in line]
    assert len(stores) == 2
    assert all(line.startswith("@") for line in stores)
    assert "MEMBAR" not in found.text


@pytest.mark.parametrize("standard", ["c++11", "c++14", "c++17", "c++20"])
def test_the_header_needs_no_new_standard(standard: str) -> None:
    assert by_nvrtc(ON, 90, f"-std={standard}")


def test_the_text_of_the_header_may_stand_before_kernels() -> None:
    assert compile_text(cuda_source() + SOURCE.read_text(), "-arch=sm_90", "-DRECORDS=1") == by_nvrtc(ON, 90)

"""Kernels compiled for GPUs that are not here, and the instructions they become."""

import re
import subprocess
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

TOOLS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"


@dataclass(frozen=True)
class MachineCode:
    cubin: bytes
    text: str
    registers: int
    shared_bytes: int
    ptx: str = ""
    """What the assembler made it of."""

    @property
    def instructions(self) -> list[str]:
        return re.findall(r"/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", self.text)

    def loop_with(self, part: str) -> list[str]:
        """The innermost loop with such an instruction."""
        labels: dict[str, int] = {}
        found: list[str] = []
        loops = []
        for line in self.text.splitlines():
            if label := re.match(r"\s*\.(L_x_\d+):", line):
                labels[label[1]] = len(found)
            elif instruction := re.search(r"/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", line):
                found.append(instruction[1])
                target = re.search(r"BRA.*`\(\.(L_x_\d+)\)", instruction[1])
                if target and target[1] in labels:
                    loops.append(found[labels[target[1]] :])
        return next(loop for loop in loops if any(part in instruction for instruction in loop))

    @property
    def loop(self) -> list[str]:
        """The innermost loop with products of matrices."""
        return self.loop_with("MMA")

    def count(self, part: str) -> int:
        return sum(part in instruction for instruction in self.instructions)


def opcodes(instructions: list[str]) -> Counter[str]:
    return Counter(re.sub(r"^@!?U?P\w+\s+", "", line).split()[0] for line in instructions)


def positions(instructions: list[str], part: str) -> list[int]:
    return [index for index, instruction in enumerate(instructions) if part in instruction]


def compiled(
    kernel: object, pointers: dict[str, str], constants: dict[str, object], capability: int
) -> MachineCode:
    """`pointers` are the arguments that are no constants, by name; all of them divisible by 16."""
    signature = {**pointers, **dict.fromkeys(constants, "constexpr")}
    attributes = {(index,): [["tt.divisibility", 16]] for index in range(len(pointers))}
    source = ASTSource(kernel, signature, constants, attributes)
    options = {"num_warps": 8, "num_stages": 3}
    with triton.knobs.compilation.scope():
        triton.knobs.compilation.disable_line_info = True  # which tells where in the source it was
        made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    return replace(disassembled(made.asm["cubin"], made.metadata.shared), ptx=made.asm["ptx"])


def can_fix_addresses() -> bool:
    """Some containers forbid it."""
    try:
        return subprocess.run(["setarch", "--addr-no-randomize", "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def assembled_for_100(ptx: str) -> bytes:
    """The same of the same text: as Triton runs it, this assembler goes by where its memory lies as well."""
    with TemporaryDirectory() as folder:
        source, made = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx)
        assembler = [str(TOOLS / "ptxas-blackwell"), "--gpu-name=sm_100a", str(source), "-o", str(made)]
        _output(["setarch", "--addr-no-randomize", *assembler])
        return made.read_bytes()


def disassembled(cubin: bytes, shared_bytes: int = 0, kernel: str = r"\w+") -> MachineCode:
    """The kernel of that name, or the only one."""
    with NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        text = _output([str(TOOLS / "nvdisasm"), "-c", file.name])
        usage = _output([str(TOOLS / "cuobjdump"), "-res-usage", file.name])
    [text] = re.findall(rf"^\.text\.{kernel}:\n.*?(?=^\s*\.section|\Z)", text, flags=re.DOTALL | re.MULTILINE)
    [registers] = re.findall(rf"Function {kernel}:\s+REG:(\d+)", usage)
    return MachineCode(cubin, text, int(registers), shared_bytes)


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout

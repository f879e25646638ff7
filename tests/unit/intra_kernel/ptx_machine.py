"""One thread of a kernel, run from its PTX: what it stores, and where.

Knows what Triton makes of integers, branches, loops and calls. Products of matrices, what brings tiles
along and sums of floats give zeros: no record goes by them.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field

_SPECIAL = {"%tid": 0, "%ctaid": 0, "%nctaid": 1, "%ntid": 32, "%smid": 3, "%laneid": 0}
_IGNORED = (
    "cp.async",
    "mma.",
    "ldmatrix",
    "wgmma",
    "bar.",
    "barrier",
    "st.shared",
    "fence",
    "griddepcontrol",
)
_ZEROS = ("add.f32", "fma.rn", "mma.", "ldmatrix", "wgmma.mma", "ld.shared", "cvt.rn", "shfl", "elect")
_MOST_STEPS = 1_000_000

Store = tuple[int, list[int], int]
"""Address, values, bytes of each."""


@dataclass
class _Function:
    parameters: list[str]
    instructions: list[str] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)


class PtxMachine:
    """Memory is that of the buffer; whatever lies elsewhere reads as zero."""

    def __init__(self, ptx: str, memory: bytearray, address: int) -> None:
        self._functions = _functions_in(ptx)
        self._memory, self._address = memory, address
        self._clock = 0
        self.stores: list[Store] = []

    def run(self, kernel: str, *arguments: int) -> None:
        function = self._functions[kernel]
        values = [*arguments, *[0] * (len(function.parameters) - len(arguments))]
        named = zip(function.parameters, values, strict=True)
        self._call(function, {name: {0: value} for name, value in named})

    def _call(self, function: _Function, parameters: dict[str, dict[int, int]]) -> None:
        frame = _Frame(self, function, parameters)
        for _ in range(_MOST_STEPS):
            if frame.at >= len(function.instructions) or frame.has_returned:
                return
            frame.step()
        raise AssertionError("the kernel does not end")

    def call(self, name: str, arguments: list[str], result: str, frame: _Frame) -> None:
        function = self._functions[name]
        given = {of: frame.parameters[by] for of, by in zip(function.parameters, arguments, strict=True)}
        given["func_retval0"] = frame.parameters.setdefault(result, {})
        self._call(function, given)

    def now(self) -> int:
        self._clock += 100
        return self._clock

    def load(self, address: int, size: int) -> int:
        at = address - self._address
        return int.from_bytes(self._memory[at : at + size], "little") if 0 <= at < len(self._memory) else 0

    def store(self, address: int, values: list[int], size: int) -> None:
        self.stores.append((address, values, size))
        for index, value in enumerate(values):
            at = address - self._address + index * size
            if 0 <= at <= len(self._memory) - size:
                self._memory[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, "little")


class _Frame:
    """A call under way. Parameters are by name and offset in bytes."""

    def __init__(
        self, machine: PtxMachine, function: _Function, parameters: dict[str, dict[int, int]]
    ) -> None:
        self._machine, self._function = machine, function
        self.parameters = parameters
        self._registers: dict[str, int] = {}
        self.at = 0
        self.has_returned = False

    def step(self) -> None:
        text = self._function.instructions[self.at]
        self.at += 1
        if guard := re.match(r"@(!?)(\S+)\s+(.*)", text):
            if bool(self._value(guard[2])) == bool(guard[1]):
                return
            text = guard[3]
        name, _space, rest = text.partition(" ")
        operands = _split(rest)
        parts = name.split(".")
        if name.startswith(_ZEROS):
            self._set_all(operands[0], [0] * 16)
        elif name.startswith(_IGNORED):
            pass
        else:
            getattr(self, "_do_" + parts[0])(parts, operands)

    def _do_ret(self, parts: list[str], operands: list[str]) -> None:
        self.has_returned = True

    def _do_bra(self, parts: list[str], operands: list[str]) -> None:
        self.at = self._function.labels[operands[0]]

    def _do_call(self, parts: list[str], operands: list[str]) -> None:
        result, name, arguments = operands if len(operands) == 3 else ["()", *operands]
        self._machine.call(name, _split(arguments.strip("()")), result.strip("()"), self)

    def _do_mov(self, parts: list[str], operands: list[str]) -> None:
        target, source = operands
        if target.startswith("{"):
            names, value = _split(target.strip("{}")), self._value(source)
            width = _width(parts[-1]) // len(names)
            self._set_all(target, [value >> width * index for index in range(len(names))])
        elif source.startswith("{"):
            pieces = [self._value(each) for each in _split(source.strip("{}"))]
            width = _width(parts[-1]) // len(pieces)
            whole = sum(piece % (1 << width) << width * index for index, piece in enumerate(pieces))
            self._set(target, whole, parts)
        else:
            self._set(target, self._value(source), parts)

    def _do_ld(self, parts: list[str], operands: list[str]) -> None:
        names = _split(operands[0].strip("{}"))
        size = _width(parts[-1]) // 8
        base, offset = _address_in(operands[1])
        for index, name in enumerate(names):
            if parts[1] == "param":
                value = self.parameters[base].get(offset + index * size, 0)
            else:
                value = self._machine.load(self._value(base) + offset + index * size, size)
            self._registers[name] = _as_type(value, parts[-1])

    def _do_st(self, parts: list[str], operands: list[str]) -> None:
        base, offset = _address_in(operands[0])
        values = [self._value(name) for name in _split(operands[1].strip("{}"))]
        size = _width(parts[-1]) // 8
        if parts[1] == "param":
            for index, value in enumerate(values):
                self.parameters.setdefault(base, {})[offset + index * size] = value
        else:
            self._machine.store((self._value(base) + offset) % (1 << 64), values, size)

    def _do_atom(self, parts: list[str], operands: list[str]) -> None:
        base, offset = _address_in(operands[1])
        address = self._value(base) + offset
        before = self._machine.load(address, 8)
        self._registers[operands[0]] = before
        self._machine.store(address, [before + self._value(operands[2])], 8)

    def _do_setp(self, parts: list[str], operands: list[str]) -> None:
        a, b = (_as_type(self._value(name), parts[-1]) for name in operands[1:3])
        self._registers[operands[0]] = int(_COMPARES[parts[1]](a, b))

    def _do_selp(self, parts: list[str], operands: list[str]) -> None:
        self._set(operands[0], self._value(operands[1] if self._value(operands[3]) else operands[2]), parts)

    def _do_cvt(self, parts: list[str], operands: list[str]) -> None:
        self._set(operands[0], _as_type(self._value(operands[1]), parts[-1]), parts[:-1])

    def _do_cvta(self, parts: list[str], operands: list[str]) -> None:
        self._set(operands[0], self._value(operands[1]), parts)

    def _do_mul(self, parts: list[str], operands: list[str]) -> None:
        product = self._signed(operands[1], parts) * self._signed(operands[2], parts)
        self._set(operands[0], product, [f"b{_width(parts[-1]) * (1 + (parts[1] == 'wide'))}"])

    def _do_mad(self, parts: list[str], operands: list[str]) -> None:
        product = self._signed(operands[1], parts) * self._signed(operands[2], parts)
        wide = [f"b{_width(parts[-1]) * (1 + (parts[1] == 'wide'))}"]
        self._set(operands[0], product + self._value(operands[3]), wide)

    def __getattr__(self, name: str) -> Callable[[list[str], list[str]], None]:
        operation = _OPERATIONS[name.removeprefix("_do_")]

        def do(parts: list[str], operands: list[str]) -> None:
            self._set(operands[0], operation(*(self._signed(each, parts) for each in operands[1:])), parts)

        return do

    def _signed(self, name: str, parts: list[str]) -> int:
        return _as_type(self._value(name), parts[-1])

    def _set(self, name: str, value: int, parts: list[str]) -> None:
        self._registers[name] = value % (1 << _width(parts[-1]))

    def _set_all(self, target: str, values: list[int]) -> None:
        names = _split(target.strip("{}"))
        for name, value in zip(names, values, strict=False):
            self._registers[name] = value % (1 << 64 // max(1, len(names)))

    def _value(self, name: str) -> int:
        if name in ("%clock", "%globaltimer"):
            return self._machine.now()
        if name.split(".")[0] in _SPECIAL:
            return _SPECIAL[name.split(".")[0]] if name.endswith(("x", "id")) else int("n" in name)
        if re.fullmatch(r"-?\d+", name):
            return int(name)
        if name.startswith(("0x", "0f")):
            return int(name[2:], 16)
        return 0 if name in ("global_smem", "_") else self._registers[name]


_COMPARES: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_OPERATIONS: dict[str, Callable[..., int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "min": min,
    "max": max,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "not": operator.invert,
    "neg": operator.neg,
    "shl": lambda a, b: a << (b & 127),
    "shr": lambda a, b: a >> (b & 127),
    "bfe": lambda a, b, c: a >> b & (1 << c) - 1,
    "rem": lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
    "div": lambda a, b: abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1),
}


def _width(kind: str) -> int:
    return 1 if kind == "pred" else int(kind[1:])


def _as_type(value: int, kind: str) -> int:
    width = _width(kind)
    value %= 1 << width
    return value - (1 << width) if kind[0] == "s" and value >> (width - 1) else value


def _split(text: str) -> list[str]:
    """By the commas that stand in no bracket."""
    return [part.strip() for part in re.split(r",(?![^{(\[]*[})\]])", text) if part.strip()]


def _address_in(text: str) -> tuple[str, int]:
    base, _plus, offset = text.strip("[]").partition("+")
    return base.strip(), int(offset or 0)


def _functions_in(ptx: str) -> dict[str, _Function]:
    ptx = re.sub(r"//.*", "", ptx)
    found = {}
    heads = r"\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$]+)\s*\(([^)]*)\)[^{;]*\{"
    for head in re.finditer(heads, ptx):
        parameters = re.findall(r"([\w$]+)(?:\[\d+\])?\s*(?:,|$)", head[2].strip())
        found[head[1]] = _function(parameters, _body_from(ptx, head.end()))
    return found


def _body_from(ptx: str, begin: int) -> str:
    depth = 1
    for at in range(begin, len(ptx)):
        depth += {"{": 1, "}": -1}.get(ptx[at], 0)
        if depth == 0:
            return ptx[begin:at]
    raise AssertionError("a brace is missing")


def _function(parameters: list[str], body: str) -> _Function:
    function = _Function(parameters)
    for part in re.sub(r"(\$\w+):", r"label \1;", body).split(";"):
        text = re.sub(r"\s+", " ", part).lstrip("{} ").rstrip()
        if text.startswith("label "):
            function.labels[text.split()[1]] = len(function.instructions)
        elif text and not text.startswith("."):
            function.instructions.append(text)
    return function

"""Kernels with records wherever a program may have them: made at random, and what they ought to record."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from kinetograph.intra_kernel import layout

_HEAD = """import triton
import triton.language as tl

from kinetograph.intra_kernel.triton import Profiler, tid


@triton.jit
def called(profiler, number):
    profiler = profiler.record(True, 40)
    if number & 4:
        profiler = profiler.mark(41, payload=number)
    return profiler.record(False, 40)


@triton.jit(noinline=True)
def apart(profiler, number):
    profiler = profiler.mark(42)
    return profiler.mark(43, payload=number)


@triton.jit
def two_ways(profiler, number):
    if number & 1:
        return profiler.mark(44)
    profiler = profiler.mark(45)
    return profiler.mark(46)


@triton.jit
def kernel(buffer, source, number):
    profiler = Profiler.create(buffer, is_leader=(tid(0) == 0))
    values = tl.load(source + tl.arange(0, 32))
"""


class RandomKernel:
    """Text for Triton, which is plain Python as well."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._count = 0
        self._lines = _HEAD.splitlines()
        self._block("    ", 0, self._random.randint(2, 6))
        self._put("    ", f"profiler = {self._records('profiler')}")

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def expected(self, number: int) -> list[tuple[int, int]]:
        """Tags and payloads, in the order they are recorded."""
        recorded: list[tuple[int, int]] = []
        namespace: dict[str, Any] = {"triton": _Triton, "tl": _Tl, "tid": lambda axis: axis}
        namespace["Profiler"] = _plain_profiler(recorded)
        body = "\n".join(line for line in self._lines if not line.startswith(("import", "from")))
        exec(body, namespace)
        namespace["kernel"](None, 0, number)
        return recorded

    def _put(self, indent: str, line: str) -> None:
        self._lines.append(indent + line)

    def _number(self) -> int:
        self._count += 1
        return self._count

    def _block(self, indent: str, depth: int, statements: int) -> None:
        for _ in range(statements):
            choices: list[Callable[[str, int], None]] = [self._row] * 4 + [self._call]
            if depth < 3:
                choices += [self._if, self._if_else, self._for, self._while, self._tuple, self._unrolled]
            if depth == 0:
                choices += [self._return]
            self._random.choice(choices)(indent, depth)

    def _inner(self, indent: str, depth: int) -> None:
        self._block(indent + "    ", depth + 1, self._random.randint(1, 3))

    def _row(self, indent: str, depth: int) -> None:
        for _ in range(self._random.randint(1, 6)):
            self._put(indent, f"profiler = {self._records('profiler')}")

    def _records(self, profiler: str) -> str:
        task = self._random.choice([str(self._random.randint(0, 9)), "number & 7"])
        kind = self._random.choice([f"record(True, {task}", f"record(False, {task}", f"mark({task}"])
        payload = self._random.choice(["", "", ", payload=number", ", payload=-7"])
        values = self._random.choice(["", "", "", "values", "(values, number, 3)", "number"])
        after = f", after={values}" if values else ""
        return f"{profiler}.{kind}{payload}{after})"

    def _call(self, indent: str, depth: int) -> None:
        name = self._random.choice(["called", "apart", "two_ways"])
        self._put(indent, f"profiler = {name}(profiler, number)")

    def _if(self, indent: str, depth: int) -> None:
        self._put(indent, f"if number & {1 << self._random.randint(0, 4)}:")
        self._inner(indent, depth)

    def _if_else(self, indent: str, depth: int) -> None:
        self._if(indent, depth)
        self._put(indent, "else:")
        self._inner(indent, depth)

    def _return(self, indent: str, depth: int) -> None:
        self._put(indent, f"if number > {self._random.randint(10, 60)}:")
        self._inner(indent, depth)
        self._put(indent + "    ", "return")

    def _for(self, indent: str, depth: int) -> None:
        name = f"i{self._number()}"
        loops = ["(number & 3)", "(2)", "(number & 7, num_stages=3)", "(0, number, 9)"]
        self._put(indent, f"for {name} in tl.range{self._random.choice(loops)}:")
        self._inner(indent, depth)

    def _unrolled(self, indent: str, depth: int) -> None:
        self._put(indent, f"for i{self._number()} in tl.static_range({self._random.randint(1, 3)}):")
        self._inner(indent, depth)

    def _while(self, indent: str, depth: int) -> None:
        name = f"left{self._number()}"
        self._put(indent, f"{name} = number & 3")
        self._put(indent, f"while {name} > 0:")
        self._inner(indent, depth)
        self._put(indent + "    ", f"{name} = {name} - 1")

    def _tuple(self, indent: str, depth: int) -> None:
        name = f"state{self._number()}"
        self._put(indent, f"{name} = (profiler, number)")
        self._put(indent, f"for i{self._number()} in range(number & 3):")
        self._put(indent, f"    {name} = ({self._records(name + '[0]')}, {name}[1] + 1)")
        self._put(indent, f"    {name} = ({self._records(name + '[0]')}, {name}[1])")
        self._put(indent, f"profiler = {self._records(name + '[0]')}")


class _Tensor:
    """Of several numbers."""


class _Tl:
    range = static_range = staticmethod(lambda *arguments, num_stages=0: range(*arguments))
    arange = staticmethod(lambda _begin, _end: 0)
    load = staticmethod(lambda _pointer: _Tensor())


class _Triton:
    @staticmethod
    def jit(function: Any = None, noinline: bool = False) -> Any:
        return function or (lambda function: function)


def _plain_profiler(recorded: list[tuple[int, int]]) -> Any:
    class Profiler:
        @staticmethod
        def create(buffer: Any, is_leader: Any) -> Profiler:
            return Profiler()

        def record(self, is_start: bool, task: int, payload: Any = None, after: Any = None) -> Profiler:
            return self._add(layout.KIND_START if is_start else layout.KIND_END, task, payload, after)

        def mark(self, task: int, payload: Any = None, after: Any = None) -> Profiler:
            return self._add(layout.KIND_INSTANT, task, payload, after)

        def _add(self, kind: int, task: int, payload: Any, after: Any) -> Profiler:
            for value in (*(after if isinstance(after, tuple) else (after,)), payload):
                if isinstance(value, _Tensor):
                    recorded.append((layout.KIND_PAYLOAD | layout.PAYLOAD_NONE << 2, 0))
                elif value is not None:
                    recorded.append((layout.KIND_PAYLOAD | layout.PAYLOAD_INT << 2, value))
            recorded.append((kind | task << 2, 0))
            return self

    return Profiler

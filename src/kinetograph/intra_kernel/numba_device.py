"""`create_profiler`, `record` and `mark` for kernels that Numba compiles: the records of `ptx.py` in them.

A profiler is a tuple in registers, so each function returns the one to go on with. One that is off is None, a
type of its own: nothing is generated for it.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.cuda.extending import intrinsic

from kinetograph.hints import Any
from kinetograph.intra_kernel import layout, ptx

__all__ = ["create_profiler", "mark", "record"]

_WORD, _LONG = ir.IntType(32), ir.IntType(64)
_PROFILER = types.Tuple((types.int64, types.int32, types.int32, types.int32))
"""Pointer to the next slot, sum, start of the tail and whether it leads."""


@intrinsic
def create_profiler(
    typing: Any, profiler_buffer: Any, group_id: Any = 0, num_groups: Any = 1, is_leader: Any = None
) -> Any:
    """A profiler for a block, or for one of `num_groups` groups of its threads, one of which leads.

    Without a buffer it is off. By default the first thread of a block leads.
    """
    leads = types.none if _is_none(is_leader) else types.boolean
    arguments = (types.int32, types.int32, leads)
    if _is_none(profiler_buffer):
        return types.none(types.none, *arguments), _generate_nothing

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        buffer, group, groups, leader = values
        array = context.make_array(signature.args[0])(context, builder, buffer)
        leads = builder.zext(_is_first_thread(builder) if _is_none(is_leader) else leader, _WORD)
        group, groups = (builder.and_(number, _WORD(255)) for number in (group, groups))
        place = builder.add(group, builder.shl(groups, _WORD(8)))
        operands = [builder.ptrtoint(array.data, _LONG), place, leads]
        results = [_LONG, _WORD, _WORD, _WORD]
        claimed = _assemble(builder, ptx.CLAIM, ptx.CLAIM_CONSTRAINTS, results, operands)
        return context.make_tuple(builder, _PROFILER, claimed)

    return _PROFILER(profiler_buffer, *arguments), generate


@intrinsic
def record(
    typing: Any, profiler: Any, is_start: Any, task_type: Any, payload: Any = None, after: Any = None
) -> Any:
    """The edge of a range; the profiler to go on with."""
    arguments = (types.boolean, types.int32, _value_type(payload), _value_type(after))
    if _is_none(profiler):
        return types.none(types.none, *arguments), _generate_nothing

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        profiler, is_start, task, payload, after = values
        writer = _Writer(builder, profiler)
        writer.store_value(after)
        writer.store_value(payload)
        writer.store_edge(is_start, task)
        return context.make_tuple(builder, _PROFILER, writer.fields)

    return _PROFILER(_PROFILER, *arguments), generate


@intrinsic
def mark(typing: Any, profiler: Any, task_type: Any, payload: Any = None, after: Any = None) -> Any:
    """A moment; the profiler to go on with."""
    arguments = (types.int32, _value_type(payload), _value_type(after))
    if _is_none(profiler):
        return types.none(types.none, *arguments), _generate_nothing

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        profiler, task, payload, after = values
        writer = _Writer(builder, profiler)
        writer.store_value(after)
        writer.store_value(payload)
        writer.store_stamp(layout.KIND_INSTANT, task)
        return context.make_tuple(builder, _PROFILER, writer.fields)

    return _PROFILER(_PROFILER, *arguments), generate


class _Writer:
    """Generates the code of records, one behind the other."""

    def __init__(self, builder: Any, profiler: Any) -> None:
        self._builder = builder
        self.fields = [builder.extract_value(profiler, index) for index in range(len(_PROFILER))]

    def store_value(self, value: Any) -> None:
        """Of the type of `_value_type`: those of None are pointers."""
        if value.type == ir.FloatType():
            bits = self._builder.zext(self._builder.bitcast(value, _WORD), _LONG)
            self._store(ptx.store(layout.KIND_PAYLOAD, layout.PAYLOAD_FLOAT), "l", bits)
        elif value.type == _LONG:
            self._store(ptx.store(layout.KIND_PAYLOAD, layout.PAYLOAD_INT), "l", value)

    def store_stamp(self, kind: int, task: Any) -> None:
        self._store(ptx.store(kind, "$4"), "r", task)

    def store_edge(self, is_start: Any, task: Any) -> None:
        """Where it is known which one, the other is left out by the compiler."""
        before, made = self.fields, []
        with self._builder.if_else(is_start) as branches:
            for branch, kind in zip(branches, (layout.KIND_START, layout.KIND_END), strict=True):
                with branch:
                    self.fields = before
                    self.store_stamp(kind, task)
                    made.append((self.fields, self._builder.block))
        self.fields = [self._either(index, made) for index in range(len(before))]

    def _either(self, index: int, made: list[tuple[list[Any], Any]]) -> Any:
        field = self._builder.phi(made[0][0][index].type)
        for fields, block in made:
            field.add_incoming(fields[index], block)
        return field

    def _store(self, text: str, constraint: str, value: Any) -> None:
        pointer, total, end, leads = self.fields
        operands = [pointer, total, leads, value]
        [total] = _assemble(self._builder, text, f"{ptx.STORE_CONSTRAINTS},{constraint}", [_WORD], operands)
        [pointer] = _assemble(self._builder, ptx.next_slot(1), ptx.NEXT_CONSTRAINTS, [_LONG], [pointer, end])
        self.fields = [pointer, total, end, leads]


def _is_none(kind: Any) -> bool:
    """Of the type of an argument, or the default of one that was not passed."""
    return kind is None or isinstance(kind, types.NoneType)


def _value_type(kind: Any) -> Any:
    if _is_none(kind):
        return types.none
    return types.float32 if isinstance(kind, types.Float) else types.int64


def _generate_nothing(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return context.get_dummy_value()


def _is_first_thread(builder: Any) -> Any:
    [number] = _assemble(builder, ptx.THREAD, "=r", [_WORD], [])
    return builder.icmp_unsigned("==", number, _WORD(0))


def _assemble(builder: Any, text: str, constraints: str, results: list[Any], values: list[Any]) -> list[Any]:
    """Loads and stores stay on their side of it."""
    result = results[0] if len(results) == 1 else ir.LiteralStructType(results)
    kind = ir.FunctionType(result, [value.type for value in values])
    made = builder.call(ir.InlineAsm(kind, text, constraints + ",~{memory}", side_effect=True), values)
    if len(results) == 1:
        return [made]
    return [builder.extract_value(made, index) for index in range(len(results))]

"""`create_profiler`, `record` and `mark` for kernels that Numba compiles: the records of `ptx.py` in them.

A profiler is a tuple in registers, so each function returns the one to go on with. One that is off is None, a
type of its own: nothing is compiled for it.
"""

from __future__ import annotations

from llvmlite import ir
from numba import cuda
from numba.cuda import types
from numba.cuda.extending import intrinsic

from kinetograph.hints import Any
from kinetograph.intra_kernel import layout, ptx

if not hasattr(types, "Tuple"):
    from numba import types  # Numba's own CUDA, before it became a package

__all__ = ["create_profiler", "mark", "record"]

_WORD, _LONG = ir.IntType(32), ir.IntType(64)
_PROFILER = types.Tuple((types.int64, types.int32, types.int32, types.int32))
"""Pointer, sum, end and whether it leads."""


@cuda.jit(device=True)
def create_profiler(profiler_buffer, group_id=0, num_groups=1, is_leader=None):
    """A profiler for a block, or for one of `num_groups` groups of its threads, one of which leads.

    Without a buffer it is off. By default the first thread of a block leads.
    """
    groups = group_id + num_groups * 256
    if is_leader is None:
        is_first = cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0 and cuda.threadIdx.z == 0
        return _claim(profiler_buffer, groups, is_first)
    return _claim(profiler_buffer, groups, is_leader)


@cuda.jit(device=True)
def record(profiler, is_start, task_type, payload=None, after=None):
    """The edge of a range; the profiler to go on with."""
    profiler = _store_value(_store_value(profiler, after), payload)
    if is_start:
        return _store_start(profiler, task_type)
    return _store_end(profiler, task_type)


@cuda.jit(device=True)
def mark(profiler, task_type, payload=None, after=None):
    """A moment; the profiler to go on with."""
    profiler = _store_value(_store_value(profiler, after), payload)
    return _store_instant(profiler, task_type)


@intrinsic
def _claim(typing: Any, buffer: Any, groups: Any, leads: Any) -> Any:
    if _is_none(buffer):
        return _nothing(buffer, groups, leads)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.ptrtoint(array.data, _LONG)
        leads = builder.zext(arguments[2], _WORD)
        results = (_LONG, _WORD, _WORD)
        made = _assemble(builder, ptx.CLAIM, ptx.CLAIM_CONSTRAINTS, results, [address, arguments[1], leads])
        return context.make_tuple(builder, signature.return_type, [*made, leads])

    return _PROFILER(buffer, types.int32, types.boolean), generate


def _stamped(kind: int) -> Any:
    @intrinsic
    def store(typing: Any, profiler: Any, task: Any) -> Any:
        if _is_none(profiler):
            return _nothing(profiler, task)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            profiler, task = arguments
            return _stored(context, builder, profiler, ptx.store(kind, "$6"), [(task, "r")])

        return _PROFILER(_PROFILER, types.int32), generate

    return store


_store_start = _stamped(layout.KIND_START)
_store_end = _stamped(layout.KIND_END)
_store_instant = _stamped(layout.KIND_INSTANT)


@intrinsic
def _store_value(typing: Any, profiler: Any, value: Any) -> Any:
    if _is_none(profiler) or _is_none(value):
        return profiler(profiler, value), lambda context, builder, signature, arguments: arguments[0]
    is_float = isinstance(value, types.Float)
    text = ptx.store(layout.KIND_PAYLOAD, layout.PAYLOAD_FLOAT if is_float else layout.PAYLOAD_INT)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        profiler, value = arguments
        if is_float:
            value = builder.zext(builder.bitcast(value, _WORD), _LONG)
        return _stored(context, builder, profiler, text, [(value, "l")])

    return _PROFILER(_PROFILER, types.float32 if is_float else types.int64), generate


def _is_none(kind: Any) -> bool:
    return isinstance(kind, types.NoneType) or (isinstance(kind, types.Omitted) and kind.value is None)


def _nothing(*kinds: Any) -> Any:
    return types.none(*kinds), lambda context, builder, signature, arguments: context.get_dummy_value()


def _stored(context: Any, builder: Any, profiler: Any, text: str, operands: list[tuple[Any, str]]) -> Any:
    fields = [builder.extract_value(profiler, index) for index in range(4)]
    constraints = ",".join([ptx.STORE_CONSTRAINTS, *[constraint for _value, constraint in operands]])
    values = [*fields, *[value for value, _constraint in operands]]
    pointer, total = _assemble(builder, text, constraints, (_LONG, _WORD), values)
    return context.make_tuple(builder, _PROFILER, [pointer, total, *fields[2:]])


def _assemble(builder: Any, text: str, constraints: str, results: Any, values: list[Any]) -> list[Any]:
    """Loads and stores stay on their side of it."""
    kind = ir.FunctionType(ir.LiteralStructType(results), [value.type for value in values])
    made = builder.call(ir.InlineAsm(kind, text, constraints + ",~{memory}", side_effect=True), values)
    return [builder.extract_value(made, index) for index in range(len(results))]

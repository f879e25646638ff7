"""What a scope carries besides its name: arguments, metadata, and the shapes of its inputs.

The native scope calls `prepare` when one is made with more than a name, `at_enter` when it begins to be
recorded and `at_exit` for the text that becomes the `args` of its event.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kinetograph import _native
from kinetograph.checks import require_text, spelled
from kinetograph.errors import ArgumentError
from kinetograph.session import observer
from kinetograph.session.categories import CPU_OP, USER_ANNOTATION
from kinetograph.session.members import member_of
from kinetograph.trace.json_text import DEEPEST, plain, shallow
from kinetograph.trace.words import RESERVED_ARGUMENTS, RecordScope

__all__ = [
    "Details",
    "at_enter",
    "at_exit",
    "emissions_with_shapes",
    "emits_shapes",
    "members_text",
    "prepare",
    "sessions_with_shapes",
    "shape_members",
]

# Flag of native/record/event.h: sessions that did not ask for shapes leave out those of this event.
_FLAG_INPUT_SHAPES = 8

_SHAPE_MEMBERS = ("Input Dims", "Input Strides", "Input type")

sessions_with_shapes: set[object] = set()
"""Those that run and ask for shapes."""
emissions_with_shapes: set[object] = set()
"""Those that send scopes to a tool and ask for shapes."""

# C++ names, as PyTorch writes them into traces.
_TYPE_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "bool": "bool",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


class Details:
    """What `prepare` found; `inputs` are let go of as soon as the scope begins."""

    __slots__ = ("args", "input_members", "inputs", "metadata")

    def __init__(self, args: str | None, inputs: Sequence[object] | None, metadata: dict[str, Any]) -> None:
        self.args = args
        self.inputs = inputs
        self.metadata = metadata
        self.input_members: dict[str, Any] = {}


def emits_shapes() -> bool:
    return bool(emissions_with_shapes)


def prepare(
    name: str,
    /,
    args: str | None = None,
    *more: object,
    kind: object = RecordScope.USER_SCOPE,
    inputs: Iterable[object] | None = None,
    **metadata: Any,
) -> tuple[int, Details | None]:
    """The native number for kind and category, and the details if there are any."""
    if more:
        raise ArgumentError(
            f"a scope takes a name and one text, got {len(more)} more: {spelled(more[0])}",
            hint="pass values as name=value instead",
        )
    if args is not None:
        require_text("args", args, hint="pass values as name=value instead")
    scope = member_of(RecordScope, kind, what="kind")
    category = USER_ANNOTATION if scope == RecordScope.USER_SCOPE else CPU_OP
    wanted = None if inputs is None else _wanted_inputs(inputs)
    flags = 0 if wanted is None or _gives_shapes(metadata) else _FLAG_INPUT_SHAPES
    has_details = args is not None or wanted is not None or metadata
    return category | scope << 8 | flags << 16, Details(args, wanted, metadata) if has_details else None


def _wanted_inputs(inputs: Iterable[object]) -> Sequence[object] | None:
    """None while nobody asks: a `with` block holds its scope to the end, and the arrays are the program's."""
    if not isinstance(inputs, Iterable):
        raise ArgumentError(
            f"inputs: expected a list of arrays, got {spelled(inputs)}", hint="write inputs=[array]"
        )
    if not (_native.is_recording() or observer.is_observing() or emits_shapes()):
        return None
    return inputs if isinstance(inputs, (list, tuple)) else tuple(inputs)


def _gives_shapes(metadata: dict[str, Any]) -> bool:
    """The program gives shapes itself: those are for every session, and ours would only mix with them."""
    return not metadata.keys().isdisjoint(_SHAPE_MEMBERS)


def at_enter(scope: Any) -> None:
    found: Details = scope._details
    if found.inputs is None:
        return
    is_wanted = sessions_with_shapes and not _gives_shapes(found.metadata)
    found.input_members = shape_members(found.inputs) if is_wanted else {}
    found.inputs = None


def at_exit(scope: Any) -> bytes:
    found: Details = scope._details
    members = dict(found.input_members)
    if found.args is not None:
        members["args"] = found.args
    return members_text(members | _own_keys(found.metadata))


def _own_keys(metadata: dict[str, Any]) -> dict[str, Any]:
    """Keys that mean a column when a file is read are marked as the program's own."""
    if RESERVED_ARGUMENTS.isdisjoint(metadata):
        return metadata
    return {f"user.{key}" if key in RESERVED_ARGUMENTS else key: value for key, value in metadata.items()}


def members_text(members: dict[str, Any]) -> bytes:
    """The inside of a JSON object. Values that JSON does not know become plain ones, or their repr."""
    try:
        text = _json(members)
    except (TypeError, ValueError, RecursionError):  # nan, a circle, keys that are no text
        text = _json({key: _known_to_json(value) for key, value in members.items()})
    # One level is that of the members themselves. Few values are nested so deeply, and few texts can be.
    if text.count("[") + text.count("{") > DEEPEST:
        text = _json(shallow(json.loads(text), DEEPEST + 1))
    return text[1:-1].encode()


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), default=_plain_or_spelled, allow_nan=False)


def _known_to_json(value: object) -> object:
    try:
        _json(value)
    except (TypeError, ValueError, RecursionError):
        return spelled(value)
    return value


def _plain_or_spelled(value: object) -> object:
    try:
        return plain(value)
    except Exception:
        return spelled(value)


def shape_members(inputs: Sequence[object]) -> dict[str, Any]:
    """Dims, strides (in elements) and types of array-likes, under Kineto's keys; others are scalars."""
    dims = [_tried(_dims, value, []) for value in inputs]
    strides = [_tried(_strides, value, []) for value in inputs]
    types = [_tried(_type_name, value, "") for value in inputs]
    return dict(zip(_SHAPE_MEMBERS, (dims, strides, types), strict=True))


def _tried(read: Callable[[Any], Any], value: object, otherwise: object) -> Any:
    """Array-likes of all sorts come here, and what they raise is not for the program."""
    try:
        return read(value)
    except Exception:
        return otherwise


def _dims(value: Any) -> list[int]:
    return [int(size) for size in getattr(value, "shape", ())]


def _strides(value: Any) -> list[int]:
    strides = getattr(value, "strides", None)
    if strides is not None:
        return [int(stride) // int(value.itemsize) for stride in strides]
    stride = getattr(value, "stride", None)
    return [int(size) for size in stride()] if callable(stride) else []


def _type_name(value: Any) -> str:
    if not hasattr(value, "shape"):
        return "Scalar"
    name = str(getattr(value, "dtype", "")).removeprefix("torch.")
    return _TYPE_NAMES.get(name, name)


_native.set_hook("prepare", prepare)
_native.set_hook("describe_enter", at_enter)
_native.set_hook("describe_exit", at_exit)

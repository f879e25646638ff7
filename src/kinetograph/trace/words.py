"""The numbers that columns of a trace hold, by name. They reach files, so they never change.

Also how a number of things is said.
"""

from __future__ import annotations

from enum import Enum, IntEnum

__all__ = [
    "RESERVED_ARGUMENTS",
    "RESERVED_METADATA",
    "DeviceType",
    "EventFlag",
    "EventKind",
    "RecordScope",
    "Word",
    "counted",
    "is_torchs",
    "key_of",
    "torch_member_name",
]

# Arguments that are columns of a trace, or ids which only its JSON has; native/format/kineto_words.h has them
# too. A file that gives one to an event means the column, so the `args` of an event never hold them.
RESERVED_ARGUMENTS = frozenset(
    {
        "Async span",
        "Ev Idx",
        "External id",
        "Python id",
        "Python parent id",
        "Record function id",
        "Record scope",
        "Resumed",
        "Sequence number",
        "correlation",
        "finished",
    }
)


# Top-level keys of a file that are not metadata, but written from the trace itself.
RESERVED_METADATA = frozenset(
    {
        "baseTimeNanoseconds",
        "deviceProperties",
        "displayTimeUnit",
        "kinetograph",
        "schemaVersion",
        "traceEvents",
        "traceName",
    }
)


def counted(number: int, noun: str) -> str:
    """
    >>> counted(1, "track"), counted(2450, "event")
    ('1 track', '2,450 events')
    """
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{ending}"


def key_of(name: str) -> str:
    """The name under which reports count an event: steps are one, whatever their number.

    >>> key_of("ProfilerStep#7"), key_of("aten::add")
    ('ProfilerStep*', 'aten::add')
    """
    return "ProfilerStep*" if name.startswith("ProfilerStep#") else name


# PyTorch calls some of these enums differently from the C++ that we follow.
_TORCH_CLASS_NAMES = {"ActivityType": "ProfilerActivity"}


def torch_member_name(kind: type[Enum], value: object) -> str | None:
    """The name of PyTorch's member if `value` is one of the enum that `kind` stands for.

    They are known by the name of their class, so torch is never imported for this.
    """
    owner = type(value)
    expected = {kind.__name__, _TORCH_CLASS_NAMES.get(kind.__name__)}
    if owner.__name__ not in expected or not is_torchs(owner):
        return None
    name = getattr(value, "name", None)
    return name if isinstance(name, str) else None


def is_torchs(kind: type) -> bool:
    """Whether it says that it is a class of PyTorch's; one that is made by hand may have no module."""
    return str(kind.__module__).partition(".")[0] == "torch"


class Word(IntEnum):
    """A number that is printed as the word for it, and equals PyTorch's member of that name.

    PyTorch's own equal nothing but themselves, so that holds where ours comes first, or is in a set.
    """

    def __eq__(self, other: object) -> bool:
        same = int.__eq__(self, other)
        if same is not NotImplemented:
            return same
        name = torch_member_name(type(self), other)
        # The other may know better whether it equals ours.
        return NotImplemented if name is None else name.upper() == self.name.upper()

    def __ne__(self, other: object) -> bool:
        same = self.__eq__(other)
        return same if same is NotImplemented else not same

    __hash__ = int.__hash__

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __format__(self, spec: str) -> str:
        return format(int(self), spec) if spec else str(self)


class EventKind(Word):
    """What form an event has."""

    SPAN = 0
    INSTANT = 1
    COUNTER = 2
    MEMORY = 3


class EventFlag(Word):
    """Bits of the `flags` column."""

    UNFINISHED = 1
    ASYNC = 2
    RESUMED = 4


class RecordScope(Word):
    """Which part of a program a recorded function belongs to; PyTorch's numbers."""

    FUNCTION = 0
    BACKWARD_FUNCTION = 1
    TORCHSCRIPT_FUNCTION = 2
    KERNEL_FUNCTION_DTYPE = 3
    CUSTOM_CLASS = 4
    BUILD_FEATURE = 5
    LITE_INTERPRETER = 6
    USER_SCOPE = 7
    STATIC_RUNTIME_OP = 8
    STATIC_RUNTIME_MODEL = 9


class DeviceType(Word):
    """The kind of device an event ran on; PyTorch's numbers."""

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    VULKAN = 10
    METAL = 11
    XPU = 12
    MPS = 13
    META = 14
    HPU = 15
    VE = 16
    LAZY = 17
    IPU = 18
    MTIA = 19
    PRIVATEUSE1 = 20

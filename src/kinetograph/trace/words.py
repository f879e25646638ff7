"""The numbers that columns of a trace hold, by name. They reach files, so they never change."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["RESERVED_ARGUMENTS", "DeviceType", "EventFlag", "EventKind", "RecordScope"]

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
        "Sequence number",
        "correlation",
        "finished",
    }
)


class EventKind(IntEnum):
    """What form an event has."""

    SPAN = 0
    INSTANT = 1
    COUNTER = 2
    MEMORY = 3


class EventFlag(IntEnum):
    """Bits of the `flags` column."""

    UNFINISHED = 1
    ASYNC = 2


class RecordScope(IntEnum):
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


class DeviceType(IntEnum):
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

"""The C table, called from Python's own thread as an injection library or an observer would call it."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path

import kinetograph as kg
from kinetograph import _native

LIBRARY = Path(_native.__file__).with_name("libkinetograph.so")
FUNCTION = 0
CPU_OP = 0


class Table(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("active", ctypes.POINTER(ctypes.c_uint32)),
        ("ticks", ctypes.c_void_p),
        ("wall_ns", ctypes.c_void_p),
        ("intern", ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t)),
        ("begin", ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint8, ctypes.c_uint8)),
        ("end", ctypes.CFUNCTYPE(None, ctypes.c_uint32)),
    )


def table_for(version: int) -> Table | None:
    function = ctypes.CDLL(str(LIBRARY)).kinetograph_record_table_for
    function.restype = ctypes.POINTER(Table)
    found = function(ctypes.c_uint32(version))
    return found.contents if found else None


def test_a_version_it_does_not_know_is_refused() -> None:
    assert table_for(_native.RECORD_ABI + 1) is None


def test_native_scopes_nest_with_those_of_python() -> None:
    table = table_for(_native.RECORD_ABI)
    assert table is not None
    name = table.intern(b"native", 6)
    kg.enable_profiler()
    with kg.scope("outer"):
        table.begin(name, CPU_OP, FUNCTION)
        with kg.scope("inner"):
            pass
        table.end(name)
    events = kg.disable_profiler().events
    assert [(event.name, event.parent.name if event.parent else None) for event in events] == [
        ("outer", None),
        ("native", "outer"),
        ("inner", "native"),
    ]


def test_the_first_scope_of_a_thread_lies_in_what_native_code_began_there() -> None:
    table = table_for(_native.RECORD_ABI)
    assert table is not None
    name = table.intern(b"native", 6)

    def work() -> None:
        table.begin(name, CPU_OP, FUNCTION)
        with kg.scope("inner"):
            pass
        table.end(name)

    with kg.profile() as profile:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    (inner,) = (event for event in profile.events() if event.name == "inner")
    assert inner.parent is not None
    assert inner.parent.name == "native"


def test_the_flag_tells_whether_anything_listens() -> None:
    table = table_for(_native.RECORD_ABI)
    assert table is not None
    assert table.active[0] == 0
    kg.enable_profiler()
    assert table.active[0] != 0
    kg.disable_profiler()
    assert table.active[0] == 0

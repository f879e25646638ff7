"""Annotations that libraries make by NVTX and ITT, and how they come to us.

A library asks once, with its first annotation, a variable of the environment which tool to load. So ours has
to be named there before; what has asked earlier is lost for this process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kinetograph import _native
from kinetograph.errors import NotAvailable
from kinetograph.loader import why_not_loadable

__all__ = [
    "ITT",
    "NVTX",
    "Interface",
    "install",
    "is_client",
    "is_installed",
    "leave_operators_to_observer",
    "library",
    "missed",
    "owner",
    "run_variables",
    "take_part_in_run",
]


class Interface(NamedTuple):
    """What libraries annotate themselves with."""

    name: str
    variable: str
    modules: tuple[str, ...]
    """Python modules that make annotations whenever they are used."""
    libraries: tuple[str, ...]
    """The same for libraries: how their file names begin."""
    own: str
    """Our own annotations of the kind."""


_NVTX_LIBRARIES = ("libnccl.so", "libcudf.so", "libcuml.so")
NVTX = Interface("NVTX", "NVTX_INJECTION64_PATH", ("nvtx",), _NVTX_LIBRARIES, "kg.nvtx")
ITT = Interface("ITT", "INTEL_LIBITTNOTIFY64", ("ittapi",), (), "kg.itt")

# What was in the process when an interface was installed: it may have asked before.
_early: dict[Interface, frozenset[str]] = {}
# To the observer, by `leave_operators_to_observer`.
_leaves_operators = False
# Whether `kinetograph run` has named a library before the program's first line.
_is_in_run = False


def library() -> str:
    """The one that others load."""
    return os.path.join(os.path.dirname(_native.__file__), "libkinetograph_annotations.so")


def owner(interface: Interface) -> str | None:
    """The library that is told; None where there is none."""
    return os.environ.get(interface.variable) or None


def is_installed(interface: Interface) -> bool:
    return owner(interface) == library()


def install(interface: Interface) -> None:
    """Let the annotations of libraries that make their first one from now on be recorded, also in children.

    Raises `NotAvailable` where another tool has taken the place.
    """
    if is_installed(interface):
        return
    if owner(interface) is not None:
        raise NotAvailable(
            _where(interface, "go"),
            hint=f"run without that tool, or unset {interface.variable} before the program starts",
        )
    if not os.path.exists(library()):
        raise NotAvailable(f"{library()} is missing", hint="reinstall kinetograph")
    _early[interface] = frozenset(_annotating(interface))
    os.environ[interface.variable] = library()
    if interface is NVTX and _leaves_operators:
        _tell_of_operators()


def take_part_in_run() -> None:
    """Say that this process belongs to a `kinetograph run`, whatever its environment says later."""
    global _is_in_run
    _is_in_run = True


def run_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """What a program is started with so that its annotations are recorded.

    A tool that is there already keeps its place.
    """
    free = [interface for interface in (NVTX, ITT) if not environment.get(interface.variable)]
    return {interface.variable: library() for interface in free} if os.path.exists(library()) else {}


def missed(before: tuple[int, int]) -> Iterator[str]:
    """Sentences on annotations that this process makes and a trace lacks.

    `before` is what `_native.own_annotations()` said when the trace began.
    """
    for interface in (NVTX, ITT):
        told = owner(interface)
        silent = set() if _made_by_us(interface, before) else {interface.own}
        if told is None and not (_is_in_run or interface in _early):
            yield from _not_installed(interface, silent)
        elif told is None:
            yield from _installed_late(interface, silent)
            yield from _taken_out(interface, silent | _early.get(interface, frozenset()))
        elif told == library():
            yield from _installed_late(interface, silent)
        else:
            yield _where(interface, "went")


def _where(interface: Interface, go: str) -> str:
    """The tool that they go, or went, to. What is no library gets nothing."""
    tool = owner(interface) or ""
    why = why_not_loadable(tool)
    if why is None:
        return f"{interface.name} annotations {go} to {tool}, which {interface.variable} names"
    return f"{interface.name} annotations {go} nowhere: {interface.variable} names {tool}, which {why}"


def _taken_out(interface: Interface, silent: set[str]) -> Iterator[str]:
    """Of what has asked before, nothing is missing."""
    deaf = (name for name in _annotating(interface) if not _is_heard(interface, name))
    names = ", ".join(name for name in deaf if name not in silent)
    if names:
        yield (
            f"{interface.name} annotations of {names} are not recorded: "
            f"{interface.variable} was taken out of the environment before the first of them"
        )


def _not_installed(interface: Interface, silent: set[str]) -> Iterator[str]:
    names = ", ".join(name for name in _annotating(interface) if name not in silent)
    if names:
        yield (
            f"{interface.name} annotations of {names} are not recorded: "
            f"call kg.{interface.name.lower()}.install() before the first of them, or use kinetograph run"
        )


def _installed_late(interface: Interface, silent: set[str]) -> Iterator[str]:
    early = _early.get(interface, frozenset())
    # Ours may have asked without having annotated: by is_listening(), a domain, a scope that was sent.
    asked = early | {interface.own} if is_installed(interface) else early
    names = ", ".join(sorted(name for name in asked - silent if not _is_heard(interface, name)))
    if names:
        yield (
            f"{interface.name} annotations of {names} may be missing: "
            f"loaded before kg.{interface.name.lower()}.install()"
        )


def _annotating(interface: Interface) -> Iterator[str]:
    """What is in this process and makes annotations."""
    yield from (name for name in interface.modules if name in sys.modules)
    if _made_by_us(interface):
        yield interface.own
    found = map(os.path.basename, map(_native.mapped_library, interface.libraries))
    yield from (name for name in found if name and not (name.startswith("libnccl") and _nccl_rests()))


def _made_by_us(interface: Interface, before: tuple[int, int] = (0, 0)) -> bool:
    number = (NVTX, ITT).index(interface)
    return _native.own_annotations()[number] > before[number]


def _nccl_rests() -> bool:
    """torch always loads it, and uses it only for several GPUs."""
    distributed = sys.modules.get("torch.distributed")
    try:
        return distributed is not None and not (distributed.is_available() and distributed.is_initialized())
    except Exception:  # it is being imported
        return True


def is_client(interface: Interface, name: str) -> bool:
    """Whether a library of that name annotates through us; one that asked too early does not."""
    return is_installed(interface) and _has_come(name)


def leave_operators_to_observer(leave: bool) -> None:
    """Whether operators that torch sends by NVTX are not recorded: the observer tells of them, too."""
    global _leaves_operators
    _leaves_operators = leave
    # It stays where it is when the variable is taken out.
    if is_installed(NVTX) or _native.mapped_library(os.path.basename(library())):
        _tell_of_operators()


def _tell_of_operators() -> None:
    import ctypes

    ctypes.CDLL(library()).kinetograph_leave_operators_to_observer(int(_leaves_operators))


def _is_heard(interface: Interface, name: str) -> bool:
    """Whether it found us when it asked, whatever the environment says since."""
    if name != interface.own:
        return _has_come(name)
    is_listening = _native.nvtx_is_listening if interface is NVTX else _native.itt_is_listening
    return is_listening() and _has_come("libkinetograph.so")


def _has_come(name: str) -> bool:
    """Whether a library of that name, or of a module of that name, annotates through us."""
    return any(f"/{name}/" in path or path.endswith(f"/{name}") for path in _clients())


def _clients() -> list[str]:
    """Paths of the libraries that have loaded ours."""
    if not _native.mapped_library(os.path.basename(library())):
        return []
    import ctypes

    tell = ctypes.CDLL(library()).kinetograph_annotating_libraries
    tell.restype, tell.argtypes = ctypes.c_size_t, (ctypes.c_char_p, ctypes.c_size_t)
    room = ctypes.create_string_buffer(tell(None, 0) + 1)
    tell(room, len(room))
    return os.fsdecode(room.value).split("\n")

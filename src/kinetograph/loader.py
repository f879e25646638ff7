"""Libraries that somebody names, as the dynamic loader would take them. None is opened here."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from kinetograph import _native

__all__ = ["why_not_loadable"]

_CACHE = "/etc/ld.so.cache"
# Of dlfcn.h.
_SEARCH_PATHS, _SIZE_OF_SEARCH_PATHS = 4, 5


def why_not_loadable(name: str) -> str | None:
    """What is wrong with a name for `dlopen`, to be said behind it; None if nothing can be seen.

    With a slash it is a path. Without one the loader looks for it, and not in the current folder.
    """
    if os.sep not in name:
        return None if _is_found(name) else "is nowhere that the loader looks"
    if not os.path.exists(name):
        return "does not exist"
    return None if _is_library(name) else "is no library"


def _is_found(name: str) -> bool:
    return any(os.path.isfile(os.path.join(folder, name)) for folder in _folders()) or _is_in_cache(name)


def _is_library(path: str) -> bool:
    """As far as it can be read; what is no file is not opened, which might wait."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def _folders() -> Iterator[str]:
    """Where it looks on behalf of our core: LD_LIBRARY_PATH as it was at the start, and the system's."""
    import ctypes

    class Head(ctypes.Structure):
        _fields_ = (("size_bytes", ctypes.c_size_t), ("count", ctypes.c_uint))

    class Folder(ctypes.Structure):
        _fields_ = (("name", ctypes.c_char_p), ("flags", ctypes.c_uint))

    core = ctypes.CDLL(os.path.join(os.path.dirname(_native.__file__), "libkinetograph.so"))
    ask = getattr(core, "dlinfo", None)  # the C library's
    head, handle = Head(), ctypes.c_void_p(core._handle)
    if ask is None or ask(handle, _SIZE_OF_SEARCH_PATHS, ctypes.byref(head)) != 0:
        return
    told = ctypes.create_string_buffer(head.size_bytes)
    ctypes.memmove(told, ctypes.byref(head), ctypes.sizeof(head))
    if ask(handle, _SEARCH_PATHS, told) != 0:
        return
    for folder in (Folder * head.count).from_buffer(told, ctypes.sizeof(Head)):
        yield os.fsdecode(folder.name)


def _is_in_cache(name: str) -> bool:
    """What ldconfig has found elsewhere. Names in it end by a zero, and may be the end of a path."""
    try:
        with open(_CACHE, "rb") as file:
            cache = file.read()
    except OSError:
        return False
    return re.search(rb"[\0/]" + re.escape(os.fsencode(name)) + rb"\0", cache) is not None

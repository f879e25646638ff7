"""The tool behind `kg.itt` as a whole, and code that a program has made as it ran."""

from __future__ import annotations

from collections.abc import Iterable

from kinetograph import _native
from kinetograph.checks import require_int, require_iterable, require_pair, require_text

__all__ = [
    "detach",
    "is_available",
    "is_listening",
    "jit_is_active",
    "jit_method_loaded",
    "jit_method_unloaded",
    "name_thread",
    "pause",
    "resume",
]

_MOST = (1 << 32) - 1
_PAIRS = "pairs of (offset in the code, line)"


def is_available() -> bool:
    """True: this build can send ITT tasks everywhere. Whether a tool takes them says `is_listening`."""
    return True


def is_listening() -> bool:
    """Whether a tool takes what is sent. The first question, or call, settles that for the process."""
    return _native.itt_is_listening()


def pause() -> None:
    """Let the tool collect nothing until `resume`."""
    _native.itt_pause()


def resume() -> None:
    """Let the tool collect again, also one that was started paused."""
    _native.itt_resume()


def detach() -> None:
    """Let the tool leave this process for good."""
    _native.itt_detach()


def name_thread(name: str) -> None:
    """Tell the tool what to call the calling thread."""
    require_text("name", name, hint="write str(value) for the name")
    _native.itt_name_thread(name)


def jit_is_active() -> bool:
    """Whether a profiler wants to know of code that the program makes as it runs."""
    return _native.jit_is_active()


def jit_method_loaded(
    name: str,
    address: int,
    size: int,
    file: str | None = None,
    lines: Iterable[tuple[int, int]] = (),
) -> int:
    """Tell the profiler where a function lies that a compiler has made; the number of it, 0 if nobody asks.

    >>> kg.itt.jit_method_loaded("kernel", address=0x7F0000001000, size=64, file="kernel.py", lines=[(64, 3)])

    `lines` are (offset in the code, line): each line holds up to its offset.
    """
    require_text("name", name, hint="write str(value) for the name")
    if file is not None:
        require_text("file", file, hint="leave file out if there is none")
    hint = "as the compiler tells it"
    address = require_int("address", address, 1, (1 << 64) - 1, hint=hint)
    size = require_int("size", size, 1, _MOST, hint=hint)
    require_iterable("lines", lines, _PAIRS, hint="leave lines out if there are none")
    table = [_offset_and_line(entry) for entry in lines]
    if not _native.jit_is_active():
        return 0
    return _native.jit_loaded(name, address, size, file, table)


def _offset_and_line(entry: object) -> tuple[int, int]:
    hint = "write (offset in the code, line)"
    at, line = require_pair("lines[...]", entry, hint=hint)
    return (
        require_int("lines[...]", at, 0, _MOST, hint=hint),
        require_int("lines[...]", line, 0, _MOST, hint=hint),
    )


def jit_method_unloaded(method: int) -> bool:
    """Tell the profiler that the code is gone, by what `jit_method_loaded` gave. False if nobody asks."""
    number = require_int("method", method, 0, _MOST, hint="pass what jit_method_loaded() gave")
    return number != 0 and _native.jit_unloaded(number)

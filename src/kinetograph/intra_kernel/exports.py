"""From a profiler buffer to a file: once, or at each end of a `ProfilerBuffer`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType

from kinetograph.checks import path_text, text_tuple
from kinetograph.errors import UsageError, warn_program
from kinetograph.hints import Any
from kinetograph.intra_kernel import live
from kinetograph.intra_kernel.buffer import alloc_profiler_buffer, load_profiler_buffer, reset_profiler_buffer
from kinetograph.trace.formats import known_suffix, usable_path

__all__ = ["ProfilerBuffer", "export_to_perfetto_trace", "set_export_trace_off", "set_export_trace_on"]

_DEFAULT_SUFFIX = ".perfetto-trace"

_NOTHING = "no kernel has recorded anything: is the buffer passed to it, and ENABLE_PROFILING on?"

_is_exporting = True
_written: dict[str, int] = {}
"""How many traces went by this path already."""


def set_export_trace_on() -> None:
    """From now on a `ProfilerBuffer` writes its trace when it ends, as it does at first."""
    global _is_exporting
    _is_exporting = True


def set_export_trace_off() -> None:
    """From now on a `ProfilerBuffer` writes nothing: for iterations that are of no interest."""
    global _is_exporting
    _is_exporting = False


def export_to_perfetto_trace(
    profiler_buffer: Any, task_names: Sequence[str], file_name: str | os.PathLike[str]
) -> None:
    """Write what is in the buffer to `file_name`, as a Perfetto trace unless its suffix says otherwise."""
    _export(profiler_buffer, task_names, _path_of("file_name", file_name))


class ProfilerBuffer:
    """A buffer for one run of kernels, and a trace of them when it ends.

    >>> with ProfilerBuffer(1_000_000, "copy", ["perfect", "non-perfect"]) as buffer:
    ...     copy_kernel[grid](buffer, source, target)

    The first trace is `copy.perfetto-trace`, the next one of that name `copy.1.perfetto-trace`. Any suffix
    that `Trace.save` knows may be given instead.
    """

    def __init__(
        self,
        max_num_profile_slots: int,
        trace_file: str | os.PathLike[str],
        task_names: Sequence[str] = (),
        slots_per_segment: int | None = None,
        device: Any = None,
        kind: str | None = None,
    ) -> None:
        self._path = _path_of("trace_file", trace_file)
        self._task_names = text_tuple("task_names", task_names)
        self._options = (max_num_profile_slots, slots_per_segment, device, kind)
        self._buffer: Any = None
        self._is_open = False

    def __enter__(self) -> Any:
        if self._is_open:
            raise UsageError(
                "ProfilerBuffer: it is in use already, and to begin anew would empty it",
                hint="make one for each `with` that stands in another",
            )
        if self._buffer is None:
            self._buffer = alloc_profiler_buffer(*self._options)
        else:
            reset_profiler_buffer(self._buffer)
        live.name_tasks(self._buffer, self._task_names)
        self._is_open = True
        return self._buffer

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_open = False
        # After an error of CUDA the buffer cannot be read, and that error would hide the first.
        if error is not None:
            return
        live.keep_contents(self._buffer)
        if _is_exporting:
            _export(self._buffer, self._task_names, _next_path(self._path))
            _written[self._path] = _written.get(self._path, 0) + 1


def _export(profiler_buffer: Any, task_names: Sequence[str], path: str) -> None:
    """Whoever looks at the picture sees no notes, so what is missing in it is said here, too."""
    trace = load_profiler_buffer(profiler_buffer, task_names)
    trace.save(path)
    missing = [note.text for note in trace.notes if note.kind in ("dropped", "damaged")]
    if not missing and len(trace) == 0:
        missing = [_NOTHING]
    for text in missing:
        warn_program(f"{path}: {text}", RuntimeWarning)


def _path_of(name: str, value: str | os.PathLike[str]) -> str:
    path = path_text(name, value)
    if path.endswith(os.sep):
        raise UsageError(f"{name}: expected a file, and {path!r} names a folder", hint="name a file in it")
    return usable_path(name, path if known_suffix(path) else path + _DEFAULT_SUFFIX)


def _next_path(path: str) -> str:
    number = _written.get(path, 0)
    if number == 0:
        return path
    suffix = known_suffix(path)
    return f"{path.removesuffix(suffix)}.{number}{suffix}"

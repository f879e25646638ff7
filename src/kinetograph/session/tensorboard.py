"""`tensorboard_trace_handler`: each trace into a folder, under the names that TensorBoard looks for."""

from __future__ import annotations

import os
from collections.abc import Callable

from kinetograph.checks import path_text, require_bool, require_text
from kinetograph.errors import KinetographError
from kinetograph.hints import Any

__all__ = ["tensorboard_trace_handler"]


def tensorboard_trace_handler(
    dir_name: str | os.PathLike[str],
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[Any], None]:
    """An `on_trace_ready` that writes `<worker>.<time in ns>.pt.trace.json[.gz]` into a folder it makes.

    >>> kg.profile(schedule=steps, on_trace_ready=kg.tensorboard_trace_handler("traces"))

    Workers that share the folder need names of their own; host and process id make one by default.
    """
    folder = path_text("dir_name", dir_name)
    require_bool("use_gzip", use_gzip)
    if worker_name is not None:
        _require_file_name(worker_name)

    def write_trace(profile: Any) -> None:
        _make(folder)
        path = os.path.join(folder, _file_name(worker_name, use_gzip))
        profile.export_chrome_trace(path, use_python_export=use_python_export)

    return write_trace


def _file_name(worker_name: str | None, use_gzip: bool) -> str:
    import time

    # Asked for with every trace: a forked child is another worker.
    worker = worker_name or f"{os.uname().nodename}_{os.getpid()}"
    return f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"


def _require_file_name(worker_name: str) -> None:
    require_text("worker_name", worker_name, hint="leave it out for host and process id")
    if "/" in worker_name or "\0" in worker_name:
        raise KinetographError(
            f"worker_name: expected what can be part of a file name, got {worker_name!r}",
            hint="name the folder in dir_name",
        )


def _make(folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise KinetographError(
            f"cannot make the folder {folder!r}: {error.strerror}", hint="name another folder"
        ) from error

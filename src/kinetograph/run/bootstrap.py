"""Begins to record this process, because the run it belongs to says so, before the program's first line.

It must not disturb the program, whatever happens: what goes wrong is left in the run's directory as a
sentence.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from kinetograph import _native, injection
from kinetograph.run.command import program_folder, split_interpreter_arguments
from kinetograph.run.directory import VARIABLE, RunDirectory
from kinetograph.run.settings import RunSettings
from kinetograph.session.recording import Session
from kinetograph.session.scopes import patch_torch

__all__ = ["start", "unrecorded_fork"]

_AFTER_THE_PROGRAM = -1_000_000  # of multiprocessing's finalizers, highest first

_session: Session | None = None
_directory = RunDirectory("")
_settings = RunSettings()
_name = ""
_records_forks = True


def start() -> None:
    """By `kinetograph.pth`, while Python reads its site packages: twice in a virtual environment."""
    global _directory, _settings, _name
    if _directory.path:
        return
    _directory = RunDirectory(os.environ[VARIABLE])
    if not _directory.exists:
        return
    try:
        _settings = RunSettings.from_json(_directory.read_settings())
        _name = _process_name(sys.orig_argv)
    except Exception as error:
        _leave_reason(error)
        return
    injection.take_part_in_run()
    with _path_of_the_program():
        _begin(_name)
    # First of all functions at exit, and so the last one that is called.
    atexit.register(_end)
    atexit.register(_leave_notes)
    os.register_at_fork(after_in_child=_begin_in_child)


@contextmanager
def _path_of_the_program() -> Iterator[None]:
    """`sys.path` with the folder that Python puts in front of it only after us.

    Samples are named by what the path is now. At its end, where it hides no module from us.
    """
    folder = program_folder(sys.orig_argv)
    if folder is None or folder in sys.path:
        yield
        return
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _begin(name: str) -> None:
    global _session
    try:
        _native.set_process_name(name)
        _session = Session.start(_settings.config(_directory.path), _settings.activities)
        _session.follow_imports()
        patch_torch()
    except Exception as error:
        _session = None
        _leave_reason(error)


def _end() -> None:
    _native.stop_watching_garbage()
    _native.mark_end()


def _begin_in_child() -> None:
    """A forked child starts with no session, and gets one of its own."""
    if not _records_forks or not _directory.exists:
        return
    _begin(_name)
    _follow_worker()


def unrecorded_fork() -> int:
    """`os.fork` for a child of our own in a process that is recorded: it is no part of the program."""
    global _records_forks
    _records_forks = False
    try:
        return os.fork()
    finally:
        _records_forks = True


def _leave_notes() -> None:
    """Brings in what devices did, too, which lies in their library until it is asked for.

    A process that is killed leaves no notes, and may lack the last second of its devices: the trace says so.
    """
    if _session is not None:
        with suppress(Exception):
            _session.leave_notes()
            _session.leave_kernels(_directory.kernel_file(os.getpid()))


def _follow_worker() -> None:
    """multiprocessing tells a child its name after the fork, and then calls what is registered here."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        util.register_after_fork(_directory, _know_worker)


def _know_worker(_registered: RunDirectory) -> None:
    util = sys.modules["multiprocessing.util"]
    # It ends by os._exit, without what is registered for the exit.
    util.Finalize(None, _leave_notes, exitpriority=_AFTER_THE_PROGRAM)
    process = sys.modules["multiprocessing.process"].current_process()
    _native.set_process_name(f"{_name} ({process.name})")


def _leave_reason(error: Exception) -> None:
    # Without it the launcher still says that there is no session file.
    with suppress(OSError):
        _directory.write_reason(f"{type(error).__name__}: {error}".splitlines()[0])


def _process_name(orig_argv: list[str]) -> str:
    """Python and the program: `python app.py`, `python -m pytest`."""
    python = os.path.basename(orig_argv[0]) if orig_argv else "python"
    _flags, program = split_interpreter_arguments(orig_argv[1:])
    if not program:
        return python
    if program[0] == "-m":
        return f"{python} -m {program[1]}"
    if program[0] != "-c":
        return f"{python} {os.path.basename(program[0])}"
    return f"{python} ({_helper_of_multiprocessing(program)})"


def _helper_of_multiprocessing(program: list[str]) -> str:
    if "--multiprocessing-fork" in program:
        return "multiprocessing spawn"
    for helper in ("resource_tracker", "forkserver"):
        if f"multiprocessing.{helper} " in program[1]:
            return f"multiprocessing {helper}"
    return "-c"

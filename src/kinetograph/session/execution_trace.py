"""`ExecutionTraceObserver`: the graph of operators that ran, as PyTorch's of that name writes it."""

from __future__ import annotations

import os
import sys
import threading
import weakref

from kinetograph.checks import path_text, require_bool
from kinetograph.errors import ArgumentError, KinetographError, warn_program
from kinetograph.hints import TYPE_CHECKING, Any, Self
from kinetograph.session.scopes import load_torch_side

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from kinetograph.export.execution_trace import ExecutionTraceFile
    from kinetograph.frameworks.torch.execution_trace import TracedNodes

__all__ = ["ExecutionTraceObserver", "observer_from_environment"]

_SWITCH = "ENABLE_PYTORCH_EXECUTION_TRACE"
_registered: weakref.WeakSet[ExecutionTraceObserver] = weakref.WeakSet()
# Those that nobody waits for: their writers finish them, and so does the end of the program. A forked child
# has none.
_left: list[ExecutionTraceFile] = []
os.register_at_fork(after_in_child=_left.clear)
_finishes_at_exit = False


class ExecutionTraceObserver:
    """Write the operators of torch that run between `start` and `stop` as a Chakra execution trace.

    >>> observer = kg.ExecutionTraceObserver().register_callback("graph.json.gz")
    >>> observer.start()
    >>> model(batch).sum().backward()
    >>> observer.unregister_callback()

    `kg.profile(execution_trace_observer=observer)` starts and stops it with each cycle. Up to eight observers
    may be registered at once. The file is there when `unregister_callback` returns, or when the program
    ends.
    """

    def __init__(self) -> None:
        self.extra_resources_collection = False
        self.resources_dir = ""
        self.output_file_path = ""
        self._nodes: TracedNodes | None = None
        self._file: ExecutionTraceFile | None = None
        self._is_running = False
        self._process = os.getpid()
        self._lock = threading.RLock()

    def __del__(self) -> None:
        file = vars(self).get("_file")
        if file is not None and self._process == os.getpid():
            # The garbage collector may find us in any thread, and under any lock.
            _left.append(file)
            file.leave_to_writer()

    @staticmethod
    def build_execution_trace_obs_from_env() -> ExecutionTraceObserver | None:
        """One that writes to a temporary file, where ENABLE_PYTORCH_EXECUTION_TRACE is 1; else None.

        With ENABLE_PYTORCH_EXECUTION_TRACE_EXTRAS=1 it collects extra resources as well.
        """
        if os.environ.get(_SWITCH) != "1":
            return None
        import tempfile

        handle, path = tempfile.mkstemp(suffix=".et.json")
        os.close(handle)
        observer = ExecutionTraceObserver().register_callback(path)
        observer.set_extra_resource_collection(os.environ.get(f"{_SWITCH}_EXTRAS") == "1")
        return observer

    def register_callback(self, output_file_path: str | os.PathLike[str]) -> Self:
        """Say where the trace goes; a name that ends in `.gz` is compressed. The second call does nothing."""
        path = path_text("output_file_path", output_file_path)
        with self._locked():
            if self._file is None:
                self._open(path)
        return self

    def start(self) -> None:
        """Record from now on. Without `register_callback` before it, or twice, nothing happens."""
        with self._locked():
            if self._nodes is None or self._file is None or self._is_running:
                return
            self._file.start()
            self._nodes.start()
            self._is_running = True
            import torch

            from kinetograph.frameworks.torch.execution_trace import tell_process_groups

            tell_process_groups(torch)

    def stop(self) -> None:
        """Pause: `start` goes on in the same file."""
        with self._locked():
            if self._is_running and self._nodes is not None:
                self._is_running = False
                self._nodes.stop()

    def unregister_callback(self) -> None:
        """Finish the file. The observer may be registered again, for another."""
        with self._locked():
            file = self._file
            if file is None:
                return
            self.stop()
            self._nodes = self._file = None
            _registered.discard(self)
            try:
                self._save_kernels()
            finally:
                _finish(file)

    def cleanup(self) -> None:
        """The same as `unregister_callback`."""
        self.unregister_callback()

    @property
    def is_registered(self) -> bool:
        with self._locked():
            return self._file is not None

    def is_running(self) -> bool:
        with self._locked():
            return self._is_running

    def get_output_file_path(self) -> str | None:
        return self.output_file_path or None

    def set_extra_resource_collection(self, val: bool) -> None:
        """Whether generated kernels are copied into a folder beside the file; call it after
        `register_callback`."""
        require_bool("val", val)
        self.extra_resources_collection = val
        if val:
            self.get_resources_dir(can_create=True)

    def get_resources_dir(self, can_create: bool = False) -> str | None:
        """The folder of extra resources; None where they are not collected or it is not there."""
        if not self.extra_resources_collection:
            return None
        if not self.resources_dir:
            folder = self.get_resources_dir_for_et_path(self.output_file_path, create_dir=can_create)
            self.resources_dir = folder or ""
        return self.resources_dir or None

    @staticmethod
    def get_resources_dir_for_et_path(trace_path: str, create_dir: bool = False) -> str | None:
        folder, name = os.path.split(trace_path)
        resources = os.path.join(folder, os.path.splitext(name)[0] + "_resources")
        if create_dir and not os.path.exists(resources):
            try:
                os.mkdir(resources)
            except OSError as error:
                warn_program(f"the resources of an execution trace have no place in {resources}: {error}")
        return resources if os.path.exists(resources) else None

    def __repr__(self) -> str:
        state = "running" if self.is_running() else "registered" if self.is_registered else "not registered"
        return f"<ExecutionTraceObserver: {state}, {self.output_file_path!r}>"

    def _locked(self) -> AbstractContextManager[object]:
        """In a forked child it is not registered: the file is the parent's."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._lock = threading.RLock()
            self._nodes = self._file = None
            self._is_running = False
        return self._lock

    def _open(self, path: str) -> None:
        from kinetograph.session.operators import imported_torch

        torch = imported_torch("execution traces cannot be recorded")
        load_torch_side()
        _finish_left()
        from kinetograph.export.execution_trace import ExecutionTraceFile
        from kinetograph.frameworks.torch.execution_trace import TracedNodes

        nodes = TracedNodes(torch)
        try:
            self._file = ExecutionTraceFile(path, nodes)
        except BaseException:
            nodes.close()
            raise
        self._nodes = nodes
        self.output_file_path = path
        self.resources_dir = ""
        _registered.add(self)
        _finish_at_exit()

    def _save_kernels(self) -> None:
        """What the compiler of torch generated, so that the trace can be replayed."""
        folder = self.get_resources_dir()
        if folder is None:
            return
        import shutil

        from torch._inductor.codecache import PyCodeCache

        for module in PyCodeCache.modules:
            source = getattr(module, "__file__", None)
            if source is not None:
                try:
                    shutil.copyfile(source, os.path.join(folder, os.path.basename(source)))
                except OSError as error:
                    warn_program(f"a kernel of an execution trace was not saved: {error}")


def observer_from_environment(given: Any) -> Any:
    """That of a profile: as given, or what the environment asks for."""
    if given is None:
        return _observer_of_environment()
    has_all = all(callable(getattr(given, name, None)) for name in ("start", "stop", "cleanup"))
    if not has_all or isinstance(given, type):
        raise ArgumentError(
            f"execution_trace_observer must have start(), stop() and cleanup(), got {given!r}",
            hint="kg.ExecutionTraceObserver().register_callback(path) makes one",
        )
    return given


def _observer_of_environment() -> ExecutionTraceObserver | None:
    """A profile goes on without one that cannot be had: nobody asked for it here."""
    if "torch" not in sys.modules:
        return None
    try:
        return ExecutionTraceObserver.build_execution_trace_obs_from_env()
    except KinetographError as error:
        warn_program(f"no execution trace is recorded: {error}")
        return None


def _finish(file: ExecutionTraceFile) -> None:
    """If the wait is interrupted, it is finished all the same."""
    try:
        file.finish()
    except Exception:
        raise
    except BaseException:
        _left.append(file)
        raise
    if file.lost_bytes:
        warn_program(
            f"{file.lost_bytes} bytes of an execution trace were lost: they came faster than they could be "
            "written"
        )


def _finish_left() -> None:
    """Of observers that were dropped; nobody is there to take an exception, so it becomes a sentence.

    Each is taken by one thread: others may be here, too.
    """
    while True:
        try:
            file = _left.pop()
        except IndexError:
            return
        try:
            _finish(file)
        except Exception as error:
            warn_program(str(error))


def _finish_at_exit() -> None:
    global _finishes_at_exit
    if not _finishes_at_exit:
        import atexit

        _finishes_at_exit = True
        atexit.register(_finish_all)


def _finish_all() -> None:
    for observer in list(_registered):
        try:
            observer.unregister_callback()
        except Exception as error:
            warn_program(str(error))
    _finish_left()

"""`Session`: one window of recording, from start to the trace. Everything that records goes through here."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable

from kinetograph import _native
from kinetograph.errors import KinetographError
from kinetograph.session import exits, observer
from kinetograph.session.activity import activity_set
from kinetograph.session.availability import require_available, shortfalls
from kinetograph.session.config import ProfilerConfig, RecordOptions
from kinetograph.session.members import member_of
from kinetograph.session.scopes import load_python_side
from kinetograph.trace import RecordScope, Trace

__all__ = ["PostProcess", "Session"]

PostProcess = Callable[[Trace], object]

_FLAGS = {
    "report_input_shapes": "record_shapes",
    "profile_memory": "profile_memory",
    "with_stack": "with_stack",
    "with_modules": "with_modules",
    "with_flops": "with_flops",
}


class Session:
    """A value: it starts once, in one thread or all, and stops once, in any thread of the same process.

    >>> session = Session.start(ProfilerConfig(), {ActivityType.CPU})
    >>> trace = session.stop()
    """

    def __init__(
        self, number: int, config: ProfilerConfig, scopes: int, post_process: PostProcess | None
    ) -> None:
        self._number = number
        self._config = config
        self._scopes = scopes
        self._post_process = post_process
        self._process = os.getpid()
        self._stopping = threading.Lock()
        self._observer_errors = observer.errors.count
        self.owner = threading.current_thread().name
        self.owner_tid = threading.get_native_id()
        self.all_threads = False

    @classmethod
    def start(
        cls,
        config: ProfilerConfig,
        activities: Iterable[object] | None = None,
        scopes: Iterable[object] = (),
        all_threads: bool = True,
        post_process: PostProcess | None = None,
    ) -> Session:
        """Begin to record. Raises before anything happens when something asked for is not available."""
        require_available(config, activity_set(activities))
        mask = _scope_mask(scopes)
        load_python_side()
        all_threads = all_threads or config.experimental_config.profile_all_threads
        session = cls(_start_native(config.recording, all_threads), config, mask, post_process)
        session.all_threads = all_threads
        session._count_shapes(1)
        exits.watch(session)
        return session

    @property
    def is_running(self) -> bool:
        return self._process == os.getpid() and _native.is_session_running(self._number)

    @property
    def exit_path(self) -> str | None:
        """Where the trace goes if the program ends before `stop`."""
        path = self._config.recording.path
        return None if path is None else os.fspath(path)

    def join(self) -> None:
        """Let the calling thread take part."""
        _native.join_session(self._number)

    def leave(self) -> bool:
        """End the part of the calling thread; False if it had none."""
        return _native.leave_session(self._number)

    def stop(self) -> Trace:
        """End the window and build its trace. The second call is an error."""
        self._require_own_process()
        with self._stopping:
            self._require_running()
            native = _native.stop_session(self._number, self._scopes)
        self._count_shapes(-1)
        exits.forget(self)
        trace = Trace(native)
        self._describe(trace)
        if self._post_process is not None:
            self._post_process(trace)
        return trace

    def _require_own_process(self) -> None:
        if self._process != os.getpid():
            raise KinetographError(
                f"this session records process {self._process}, and this is process {os.getpid()}",
                hint="a forked child starts without sessions: start one of its own there",
            )

    def _require_running(self) -> None:
        if not self.is_running:
            raise KinetographError("this session has been stopped already", hint="start a new one")

    def _count_shapes(self, change: int) -> None:
        from kinetograph.session import details

        if self._config.report_input_shapes:
            details.count_shapes(change)

    def _describe(self, trace: Trace) -> None:
        trace.metadata["trace_id"] = self._config.trace_id or os.urandom(16).hex().upper()
        trace.metadata["host_name"] = os.uname().nodename
        for option, key in _FLAGS.items():
            if getattr(self._config, option):
                trace.metadata[key] = 1
        for sentence in shortfalls(self._config):
            trace.add_note("partial", sentence)
        for sentence in observer.errors.since(self._observer_errors):
            trace.add_note("callback", sentence)


def _start_native(options: RecordOptions, all_threads: bool) -> int:
    directory = "" if options.directory is None else os.fspath(options.directory)
    is_ring = options.mode == "ring"
    ring_bytes = options.ring_limit_bytes if options.ring_seconds is None else options.ring_bytes or 0
    try:
        return _native.start_session(
            all_threads=all_threads,
            memory_limit_bytes=options.memory_limit_bytes,
            drop_at_limit=options.at_limit == "drop",
            # Half of the limit is for building and writing the trace.
            ring_bytes=min(ring_bytes, options.memory_limit_bytes // 2) if is_ring else 0,
            ring_ns=int((options.ring_seconds or 0) * 1e9),
            spill_directory=directory,
            session_directory=_session_directory(options) if options.crash_safe else "",
        )
    except (OSError, ValueError) as error:
        raise KinetographError(
            f"cannot record to {options.directory}: {error}", hint="name a directory that can be written to"
        ) from error


def _session_directory(options: RecordOptions) -> str:
    if options.directory is not None:
        return os.path.abspath(os.fspath(options.directory))
    import tempfile

    return os.path.join(tempfile.gettempdir(), f"kinetograph-{os.getuid()}")


def _scope_mask(scopes: Iterable[object]) -> int:
    mask = 0
    for scope in scopes:
        mask |= 1 << member_of(RecordScope, scope, what="scopes")
    return mask

"""Who records when a capture is asked for: Kineto's client interface, and ours, which is there by default."""

from __future__ import annotations

import signal
from collections.abc import Iterable

from kinetograph import _native
from kinetograph.errors import ArgumentError, KinetographError, NotAvailable
from kinetograph.hints import Any, NoReturn
from kinetograph.session.activity import ActivityType
from kinetograph.session.availability import require_available
from kinetograph.session.config import ProfilerConfig, ProfilerState, RecordOptions
from kinetograph.session.handover import call_program
from kinetograph.session.recording import Session
from kinetograph.trace import RecordScope, Trace

__all__ = [
    "Client",
    "current_client",
    "initialise_client",
    "register_client",
    "take_signals_of_client",
]

_METHODS = (
    "init",
    "prepare",
    "start",
    "stop",
    "start_memory_profile",
    "stop_memory_profile",
    "export_memory_profile",
)
_SCOPES = (RecordScope.FUNCTION, RecordScope.USER_SCOPE, RecordScope.BACKWARD_FUNCTION)


class Client:
    """Records all threads, in state KINETO_ONDEMAND: operators, scopes of the program, backward functions.

    >>> class MyClient(kg.ondemand.Client):
    ...     def stop(self):
    ...         trace = super().stop()
    ...         trace.metadata["epoch"] = epoch
    ...         return trace
    >>> kg.ondemand.register_client(MyClient())

    `init` is called once, `prepare`, `start` and `stop` for each capture. `start` may be called in a thread
    of the program's, between two steps, and is quick.
    """

    def __init__(self) -> None:
        self.activities = frozenset({ActivityType.CPU})
        self.trace_id = ""
        self.directory: str | None = None
        """Where the mapped file lies that outlives the process; None: in memory."""
        self._config = ProfilerConfig(ProfilerState.KINETO_ONDEMAND)
        self._session: Session | None = None

    def init(self) -> None:
        """When there are a client and an agent."""

    def prepare(
        self,
        report_input_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
    ) -> None:
        """What the next capture shall record. Raises what cannot be recorded here."""
        self._config = ProfilerConfig(
            ProfilerState.KINETO_ONDEMAND,
            report_input_shapes=report_input_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            trace_id=self.trace_id,
        )
        require_available(self._config, self.activities)

    def start(self) -> None:
        if self._session is None:
            self._session = self._new_session()
        self._session.resume()

    def stop(self) -> Trace | None:
        """The trace; a client that gives None keeps what it recorded to itself."""
        session, self._session = self._session, None
        return None if session is None else session.stop()

    def start_memory_profile(self) -> None:
        _refuse_memory()

    def stop_memory_profile(self) -> None:
        _refuse_memory()

    def export_memory_profile(self, path: str) -> None:
        _refuse_memory()

    # What Kineto's clients have not. A capture does without, where a client is not derived from ours.

    def warm_up(self) -> None:
        """Put everything in place, so that `start` takes no time. The calling thread is left out."""
        self._session = self._new_session()
        self._session.leave()

    def start_in(self, wait_ns: int) -> tuple[int, int]:
        """Start in so long, whether or not the program holds the GIL then; `warm_up` has been called.

        Gives what woke the capture before that, and else the wall time of the start. That may lie ahead: what
        is recorded begins a little earlier, and the trace at its time.
        """
        assert self._session is not None
        why, begin_ns = 0, 0

        def resume(session: int) -> bool:
            nonlocal why, begin_ns
            why, begin_ns = _native.resume_in_capture(wait_ns, session)
            return bool(begin_ns)

        self._session.resume_by(resume)
        self._session.begin_ns = begin_ns if wait_ns else 0
        return why, begin_ns

    def pause(self) -> None:
        """The window is over, and `stop` follows soon."""
        if self._session is not None:
            self._session.pause()

    def discard(self) -> None:
        """There will be no `stop`."""
        session, self._session = self._session, None
        if session is not None:
            session.discard()

    def _new_session(self) -> Session:
        if self.directory is None:
            return self._started(RecordOptions())
        try:
            return self._started(RecordOptions(crash_safe=True, directory=self.directory))
        except KinetographError:
            # One process has one mapped file: under `kinetograph run` it is that of the run.
            return self._started(RecordOptions())

    def _started(self, recording: RecordOptions) -> Session:
        config = self._config.replace(recording=recording)
        return Session.start(config, self.activities, _SCOPES, starts_paused=True)


_client: Any = None
_blocked: Iterable[int] = ()  # signals, in the thread that registered the client


def register_client(client: Any) -> None:
    """Let `client` record what captures ask for, in place of the one before. None: ours again."""
    global _client, _blocked
    for name in _METHODS if client is not None else ():
        if not callable(getattr(client, name, None)):
            raise ArgumentError(
                f"client: expected a method {name}, and {type(client).__name__} has none",
                hint="derive it from kg.ondemand.Client",
            )
    _client, _blocked = client, signal.pthread_sigmask(signal.SIG_BLOCK, ())
    if _native.agent_path():
        initialise_client()


def initialise_client() -> None:
    """Once there is an agent, too."""
    if _client is not None:
        call_program(_client.init)


def take_signals_of_client() -> None:
    """In a thread of ours, which blocks all signals, as would the processes that a client starts there.

    Ours starts none, and the program is left to take its signals itself.
    """
    if _client is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, _blocked)


def current_client() -> Any:
    return Client() if _client is None else _client


def _refuse_memory() -> NoReturn:
    raise NotAvailable("memory profiles are not available yet: they come with the memory part")

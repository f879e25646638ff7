"""One capture in the process that is looked into, from the request to the file."""

from __future__ import annotations

import os
import threading
import time
from contextlib import AbstractContextManager, ExitStack

from kinetograph import _native
from kinetograph.errors import KinetographError, StateError
from kinetograph.hints import Any
from kinetograph.ondemand import ring
from kinetograph.ondemand.client import Client, current_client, take_signals_of_client
from kinetograph.ondemand.outputs import reserved_output
from kinetograph.ondemand.places import captures_directory
from kinetograph.ondemand.request import CaptureRequest
from kinetograph.ondemand.window import Window
from kinetograph.session.activity import activity_set
from kinetograph.session.handover import call_program
from kinetograph.session.scopes import load_python_side
from kinetograph.session.step_tracker import KinetoStepTracker
from kinetograph.trace import Trace
from kinetograph.trace.json_text import to_json

__all__ = ["Capture", "load_what_captures_need"]

# So that an answer fits a frame, with every letter escaped.
_MOST_NOTES, _LONGEST_NOTE, _LONGEST_REASON = 20, 200, 1000
_SESSION_SUFFIX = ".kgsession"


def load_what_captures_need() -> None:
    """What is imported late elsewhere, so that a capture imports nothing while the program may fork."""
    import json  # noqa: F401

    from kinetograph.export import chrome, perfetto  # noqa: F401
    from kinetograph.ondemand import leftovers  # noqa: F401

    load_python_side()


class Capture:
    """Made for one request and served by one thread; `on_step` comes from those of the program."""

    def __init__(self, peer: int, directories: tuple[str, ...]) -> None:
        self._peer = peer
        self._directories = directories
        self._client: Any = None
        self._window: Window | None = None
        # One that a signal handler of the same thread may take again.
        self._lock = threading.RLock()
        self._failure: Exception | None = None
        self._session_file: str | None = None
        self._is_stopped = False

    def run(self, payload: bytes) -> dict[str, object]:
        """Gives the last answer. What the client raises is raised, and then nothing of it is left."""
        take_signals_of_client()
        with ExitStack() as reservation:
            try:
                request = CaptureRequest.from_json(payload)
                path = reservation.enter_context(self._reserved_output(request))
                if request.ring_dump:
                    return _written(ring.dumped(request.trace_id), path, "")
                step = KinetoStepTracker.current_step()
                window = Window(request, step, time.monotonic_ns(), time.time_ns())
                self._prepare(request)
            except (KinetographError, OSError) as error:
                return _refusal(error)
            if request.memory_profile:
                return self._profile_memory(request, path)
            self._accept(window, path, step)
            return self._recorded(window, path)

    def on_step(self, step: int) -> None:
        """In the thread of the program that tells of the step: so the window is one of whole steps."""
        window = self._window
        if window is None or not window.counts_steps:  # so a client that is slow holds up no program
            return
        try:
            self._advance(window, step, between_steps=True)
        except Exception as error:  # the program's step goes on; the thread of the capture raises it
            self._failure = error
        except BaseException as error:  # Ctrl-C, say, which is the program's
            self._failure = KinetographError(f"the program was interrupted: {type(error).__name__}")
            raise
        finally:
            _native.poke_capture()

    # From the request to the end of the window

    def _reserved_output(self, request: CaptureRequest) -> AbstractContextManager[str]:
        suffix = ".pickle" if request.memory_profile else ""
        return reserved_output(request.output, self._directories, suffix=suffix)

    def _prepare(self, request: CaptureRequest) -> None:
        """Raises what the client cannot do."""
        self._client = client = current_client()
        if request.memory_profile:
            call_program(client.start_memory_profile)
            return
        if isinstance(client, Client):
            client.activities = activity_set(name.upper() for name in request.activities)
            client.trace_id = request.trace_id
            client.directory = captures_directory()
        call_program(
            client.prepare,
            request.report_input_shapes,
            request.profile_memory,
            request.with_stack,
            request.with_flops,
            request.with_modules,
        )

    def _accept(self, window: Window, path: str, step: int) -> None:
        notes = ["the program has told of no step yet"] if window.first_step is not None and not step else []
        self._answer("accepted", path=path, step=step, start_step=window.first_step, notes=notes)
        _native.set_agent_state("waiting")
        self._window = window

    def _recorded(self, window: Window, path: str) -> dict[str, object]:
        try:
            why = self._follow(window)
            self._close(window)
            if why & _native.WAKE_CANCELLED or window.begun_ns is None:
                self._discard()
                return {"answer": "cancelled", "reason": _reason(why)}
            return _written(self._stopped(why), path, _reason(why))
        except BaseException:
            self._close(window)
            self._discard()
            raise

    def _close(self, window: Window) -> None:
        """Nothing begins any more. One that a thread of the program is about to begin has begun by then."""
        with self._lock:
            window.is_over = True

    def _follow(self, window: Window) -> int:
        """Until the window is over: 0, or until something ends it early: the bits that say what."""
        while not window.is_over:
            step = KinetoStepTracker.current_step()
            if window.wants_warm_up(time.monotonic_ns(), step):
                self._warm_up(window)
            if self._begins_natively(window):
                why = self._begin_natively(window)
            else:
                self._advance(window, step, between_steps=False)
                why = _native.wait_in_capture(0 if window.is_over else window.quiet_ns(time.monotonic_ns()))
            if self._failure is not None:
                raise self._failure
            if why & ~_native.WAKE_POKED:
                return why & ~_native.WAKE_POKED
        return 0

    def _begins_natively(self, window: Window) -> bool:
        """At a time, not at a step, and by a client that leaves the start to us."""
        is_ours = isinstance(self._client, Client) and type(self._client).start is Client.start
        return is_ours and window.is_warm and window.begun_ns is None and window.first_step is None

    def _begin_natively(self, window: Window) -> int:
        why, begin_ns = self._client.start_in(window.quiet_ns(time.monotonic_ns()))
        if begin_ns:
            since_ns = time.time_ns() - begin_ns  # less than nothing, where the GIL was free
            step = KinetoStepTracker.current_step()
            self._tell_of_begin(window, step, time.monotonic_ns() - since_ns, begin_ns)
        elif not why:
            raise StateError("the program has ended the session of this capture")
        return int(why)

    def _warm_up(self, window: Window) -> None:
        if isinstance(self._client, Client):
            before = _session_files()
            self._client.warm_up()
            # Those of before are of dead processes, which had this pid.
            self._session_file = next(iter(_session_files() - before), None)
        window.is_warm = True

    def _advance(self, window: Window, step: int, *, between_steps: bool) -> None:
        """Begin or end, if that is due. By the thread of the capture, or by one that tells of a step."""
        with self._lock:
            now_ns = time.monotonic_ns()
            if window.wants_begin(now_ns, step, between_steps=between_steps):
                call_program(self._client.start)
                self._tell_of_begin(window, step, time.monotonic_ns(), time.time_ns())
            elif window.wants_end(now_ns, step):
                window.is_over = True
                # Who has no step to go on with comes to the stop itself.
                if between_steps and isinstance(self._client, Client):
                    self._client.pause()

    def _tell_of_begin(self, window: Window, step: int, now_ns: int, wall_ns: int) -> None:
        window.begin(now_ns, step)
        _native.set_agent_state("recording")
        self._answer("started", start_ns=wall_ns, step=step, session_file=self._session_file)

    def _profile_memory(self, request: CaptureRequest, path: str) -> dict[str, object]:
        """By the client, which has begun, until there is a file; raises what it cannot do."""
        _native.set_agent_state("recording")
        self._answer("accepted", path=path, step=KinetoStepTracker.current_step(), notes=[])
        self._answer("started", start_ns=time.time_ns(), session_file=None)
        end_ns = time.monotonic_ns() + request.window_ns
        why = 0
        while not why and (left_ns := end_ns - time.monotonic_ns()) > 0:
            why = _native.wait_in_capture(left_ns) & ~_native.WAKE_POKED
        call_program(self._client.stop_memory_profile)
        if why & _native.WAKE_CANCELLED:
            return {"answer": "cancelled", "reason": _reason(why)}
        call_program(self._client.export_memory_profile, path)
        return {"answer": "finished", "path": path, "size_bytes": os.path.getsize(path), "notes": []}

    # From there to the file

    def _stopped(self, why: int) -> Trace | None:
        _native.set_agent_state("writing")
        self._is_stopped = True
        trace: Trace | None = call_program(self._client.stop)
        if why and trace is not None:
            trace.add_note("capture", f"it ended before its time: {_reason(why)}")
        return trace

    def _discard(self) -> None:
        if isinstance(self._client, Client):
            self._client.discard()
        elif self._window is not None and self._window.begun_ns is not None and not self._is_stopped:
            call_program(self._client.stop)

    def _answer(self, answer: str, **members: object) -> None:
        # Whoever asked may be gone; the agent tells us by and by.
        _native.agent_answer(self._peer, to_json({"answer": answer, **members}))


def _refusal(error: Exception) -> dict[str, object]:
    reason, _, hint = str(error).partition("\nhint: ")
    return {"answer": "refused", "reason": reason[:_LONGEST_REASON], "hint": hint[:_LONGEST_REASON]}


def _written(trace: Trace | None, path: str, reason: str) -> dict[str, object]:
    if trace is None:
        notes = ["the client of this process keeps its recording"]
        return {"answer": "finished", "path": None, "notes": notes}
    trace.save(path)
    notes = [f"{note.kind}: {note.text}"[:_LONGEST_NOTE] for note in trace.notes[:_MOST_NOTES]]
    size_bytes = os.path.getsize(path)
    last = {
        "answer": "finished",
        "path": path,
        "size_bytes": size_bytes,
        "events": len(trace),
        "notes": notes,
    }
    return last | ({"reason": reason} if reason else {})


def _reason(why: int) -> str:
    if why & _native.WAKE_CANCELLED:
        return "cancelled"
    if why & _native.WAKE_ENDING:
        return "the process was ending"
    return "whoever asked was gone" if why & _native.WAKE_PEER_GONE else ""


def _session_files() -> set[str]:
    """Mapped files where captures put theirs, of processes that have, or had, the pid of this one."""
    directory = captures_directory()
    own = f"{os.getpid()}-"
    names = (
        name for name in os.listdir(directory) if name.startswith(own) and name.endswith(_SESSION_SUFFIX)
    )
    return {os.path.join(directory, name) for name in names}

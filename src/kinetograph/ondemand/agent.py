"""The agent of this process: started once, again in every forked child, and ended with the interpreter.

The agent itself is native (`native/agent`). Here it is told who we are, and its requests find a thread.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from contextlib import suppress

from kinetograph import _native
from kinetograph.checks import text_tuple
from kinetograph.errors import KinetographError, UsageError, tell_on_stderr
from kinetograph.hints import TYPE_CHECKING
from kinetograph.ondemand.places import socket_directory
from kinetograph.session.scopes import load_together
from kinetograph.session.step_tracker import KinetoStepTracker
from kinetograph.trace.json_text import encodable, to_json

if TYPE_CHECKING:
    from kinetograph.ondemand.capturing import Capture

__all__ = ["start", "start_as_told", "stop"]

PROTOCOL = 1
_OFF = ("", "0", "false", "no", "off")
# What `status` answers fits a frame, however it is escaped.
_LONGEST_COMMAND, _LONGEST_JOB = 4096, 256
_JOB_VARIABLES = ("KINETOGRAPH_JOB", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")
# For a capture that runs when the process ends: to be built and written.
_MOST_AT_EXIT_NS = 60_000_000_000
_SLICE_NS = 100_000_000

_process = 0
_directories: tuple[str, ...] = ()
_ring_seconds: float | None = None
_capture: Capture | None = None


def start(directories: tuple[str, ...] = (), ring_seconds: float | None = None) -> str:
    """The path of the socket, which may have been there before."""
    global _process, _directories, _ring_seconds
    if _process == os.getpid():
        return _native.agent_path()
    # As they are named now: the program may go to another directory.
    _directories = tuple(map(os.path.abspath, text_tuple("directories", directories))) or _directories
    _ring_seconds = ring_seconds
    path = _begin()
    if _process == 0:
        atexit.register(stop)
        os.register_at_fork(
            before=_native.agent_expects_fork,
            after_in_parent=_native.agent_goes_on,
            after_in_child=_start_in_child,
        )
        KinetoStepTracker.tell(_on_step)
    _process = os.getpid()
    client = sys.modules.get("kinetograph.ondemand.client")
    if client is not None:
        client.initialise_client()
    return path


def start_as_told() -> None:
    """Because a variable of the environment says so; the program goes on whatever happens."""
    is_on = os.environ.get("KINETOGRAPH_AGENT", "").lower() not in _OFF or "KINETO_USE_DAEMON" in os.environ
    if not is_on or _is_own_command(sys.orig_argv):
        return
    try:
        start(ring_seconds=_seconds_of_ring())
    except (KinetographError, OSError) as error:
        tell_on_stderr(f"process {os.getpid()} has no agent: {error}")


def stop() -> None:
    """End the agent; a capture that runs is ended and written first."""
    if _process == os.getpid():
        try:
            _wait_for_captures()
        finally:
            _end()


def _wait_for_captures() -> None:
    """In slices, between which Python takes a Ctrl-C of somebody who does not want to wait."""
    for _ in range(_MOST_AT_EXIT_NS // _SLICE_NS):
        if _native.end_captures(_SLICE_NS):
            return


def _end() -> None:
    global _process
    _native.stop_agent()
    _process = -1
    if _ring_seconds is not None:
        from kinetograph.ondemand.ring import stop_ring

        stop_ring()


def _begin() -> str:
    path = _listen()
    if _ring_seconds is not None:
        from kinetograph.ondemand.ring import start_ring

        try:
            start_ring(_ring_seconds)
        except BaseException:
            _native.stop_agent()
            raise
    return path


def _seconds_of_ring() -> float | None:
    text = os.environ.get("KINETOGRAPH_AGENT_RING", "")
    try:
        return float(text) if text else None
    except ValueError:
        raise UsageError(f"KINETOGRAPH_AGENT_RING: expected seconds, got {text!r}") from None


def _listen() -> str:
    directory = socket_directory()
    # First: whoever finds the socket asks at once.
    _native.describe_agent(_description())
    _native.set_agent_step(KinetoStepTracker.current_step())
    try:
        return _native.start_agent(directory, _on_request)
    except OSError as error:
        raise KinetographError(
            f"cannot listen in {directory}: {error.strerror}",
            hint="let KINETOGRAPH_RUNTIME_DIR name another directory",
        ) from error


def _description() -> str:
    """Members of a JSON object. The name of the user is left to whoever reads it: to ask may take long."""
    from kinetograph.session.ranks import rank_from_environment

    rank = rank_from_environment()
    members: dict[str, str | float | None] = {
        "protocol": PROTOCOL,
        "pid": os.getpid(),
        "uid": os.getuid(),
        "host": os.uname().nodename,
        "command": " ".join(sys.orig_argv)[:_LONGEST_COMMAND],
        "job": next(filter(None, map(os.environ.get, _JOB_VARIABLES)), "")[:_LONGEST_JOB] or None,
        "rank": None if rank is None else rank.number,
        "python": sys.version.partition(" ")[0],
        "ring_seconds": _ring_seconds,
    }
    return ",".join(f"{_native.quoted_json(name)}:{_spelled(value)}" for name, value in members.items())


def _spelled(value: str | float | None) -> str:
    if value is None:
        return "null"
    return _native.quoted_json(encodable(value)) if isinstance(value, str) else repr(value)


def _is_own_command(arguments: list[str]) -> bool:
    """`kinetograph ps` and the like are not what anybody wants to look into."""
    return (
        arguments[1:3] == ["-m", "kinetograph"] or os.path.basename("".join(arguments[1:2])) == "kinetograph"
    )


def _start_in_child() -> None:
    """The parent's socket is not ours. Where none can be made, the child goes on without.

    Nothing may be imported here: a thread that is not there any more may have been importing the same.
    """
    global _process, _capture
    if _process == -1:
        return
    _capture = None
    try:
        _begin()
    except (KinetographError, OSError):
        _process = -1
    else:
        _process = os.getpid()


def _on_step() -> None:
    step = KinetoStepTracker.current_step()
    _native.set_agent_step(step)
    capture = _capture
    if capture is not None:
        capture.on_step(step)


def _on_request(peer: int, request: bytes) -> None:
    """In a native thread, which is gone when this returns."""
    if not _native.take_capture():  # it was withdrawn while the program had the interpreter for itself
        _native.end_capture(to_json({"answer": "cancelled", "reason": "cancelled"}))
        return
    _native.set_agent_state("preparing")
    thread = threading.Thread(target=_serve, args=(peer, request), name="kinetograph-capture", daemon=True)
    try:
        thread.start()
    except RuntimeError as error:  # the interpreter is ending, or there is no memory for a thread
        _native.end_capture(to_json({"answer": "refused", "reason": str(error)}))


def _load_captures() -> None:
    from kinetograph.ondemand.capturing import load_what_captures_need

    load_what_captures_need()


def _serve(peer: int, request: bytes) -> None:
    global _capture
    last: dict[str, object] = {}
    try:
        # A child of a fork in which this thread is importing for ever could not import the same.
        load_together(_load_captures)
        from kinetograph.ondemand.capturing import Capture

        _capture = Capture(peer, _directories)
        last = _capture.run(request)
    except Exception as error:
        last = {"answer": "failed", "reason": f"{type(error).__name__}: {error}"[:1000]}
    finally:
        _capture = None
        _native.end_capture(to_json(last or {"answer": "failed", "reason": "the capture was broken off"}))
        _remove_leftovers()


def _remove_leftovers() -> None:
    """Of whoever asked before and never fetched it; whoever asked now has its answer."""
    from kinetograph.ondemand.leftovers import remove_leftovers
    from kinetograph.ondemand.places import captures_directory

    with suppress(KinetographError):  # the directory is not ours any more, as captures are told
        remove_leftovers(captures_directory())

"""Fork in the middle of a session and tell what parent and child see. How to fork is the argument."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import threading
import traceback
from typing import Any

import kinetograph as kg
from kinetograph import _native
from kinetograph.errors import KinetographError
from kinetograph.session.recording import Session

HOW, DIRECTORY = sys.argv[1], sys.argv[2]
OPTIONS = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
inherited: Session


def in_child() -> dict[str, Any]:
    told: dict[str, Any] = {
        "recording": _native.is_recording(),
        "sessions": _native.sessions(),
        "threads": _native.thread_count(),
        "inherited_runs": inherited.is_running,
        "enabled": kg.is_profiler_enabled_in_main_thread(),
    }
    kg.mark("lost: the child has no session")
    try:
        inherited.stop()
    except KinetographError as error:
        told["stop"] = str(error)
    try:
        kg.disable_profiler()
    except KinetographError as error:
        told["disable"] = str(error)
    kg.enable_profiler(kg.ProfilerConfig(recording=kg.RecordOptions(**OPTIONS)), all_threads=True)
    with kg.scope("child"):
        kg.mark("inside")
    thread = threading.Thread(target=kg.mark, args=("child thread",))
    thread.start()
    thread.join()
    trace = kg.disable_profiler().trace
    told["own"] = sorted(event.name for event in trace.events)
    told["own_pid"] = [process.pid for process in trace.processes] == [os.getpid()]
    return told


def tell(path: str) -> None:
    with open(path, "w") as file:
        json.dump(in_child(), file)


def fork(path: str) -> int:
    if HOW == "multiprocessing":
        child = multiprocessing.get_context("fork").Process(target=tell, args=(path,))
        child.start()
        child.join()
        return child.exitcode
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            tell(path)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


config = kg.ProfilerConfig(recording=kg.RecordOptions(**OPTIONS))
inherited = Session.start(config)
kg.enable_profiler(config)
with kg.scope("open across the fork"):
    kg.mark("before")
    status = fork(os.path.join(DIRECTORY, "told.json"))
    kg.mark("after")
low_level, trace = kg.disable_profiler().trace, inherited.stop()
with open(os.path.join(DIRECTORY, "told.json")) as file:
    child = json.load(file)
print(
    json.dumps(
        {
            "status": status,
            "child": child,
            "parent": [[event.name, event.finished] for event in trace.events],
            "parent_low_level": [event.name for event in low_level.events],
            "losses": [note.text for note in trace.notes if note.kind not in ("clock", "cost")],
        }
    )
)

"""End in the middle of a scope, in the way that the argument names."""

import ctypes
import os
import signal
import sys
import time

import kinetograph as kg


def inner() -> None:
    raise ValueError("of the program")


def end(how: str) -> None:
    if how == "exception":
        inner()
    elif how == "chained exception":
        try:
            inner()
        except ValueError as error:
            raise RuntimeError("another") from error
    elif how == "sys.exit":
        sys.exit(3)
    elif how == "sys.exit text":
        sys.exit("a reason")
    elif how == "os._exit":
        os._exit(4)
    elif how == "segmentation fault":
        ctypes.string_at(0)
    elif how == "interrupt":
        raise KeyboardInterrupt
    elif how == "exec":
        os.execv(sys.executable, [sys.executable, __file__, "nothing"])
    elif how == "wait":
        print("ready", flush=True)
        # In small pieces: Python misses a signal that comes just before it sleeps until it wakes up.
        for _ in range(6000):
            time.sleep(0.01)
    elif how.startswith("SIG"):
        os.kill(os.getpid(), getattr(signal, how))


with kg.scope("whole"):
    for _ in range(1000):
        with kg.scope("part"):
            pass
    end(sys.argv[1])

"""Say which signals come, until SIGTERM does."""

import os
import signal
import sys
import time


def write(line: str) -> None:
    """Not print, which fails where a handler interrupts it."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def say(number: int, _frame: object) -> None:
    write(signal.Signals(number).name)
    if number == signal.SIGTERM:
        sys.exit(7)


for name in ("SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGTERM", "SIGQUIT", "SIGRTMIN"):
    signal.signal(getattr(signal, name), say)
write("ready")
while True:
    time.sleep(0.01)  # not signal.pause(): Python may miss the signal that comes just before

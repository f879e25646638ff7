"""Say which signals come, until SIGTERM does."""

import signal
import sys
import time


def say(number: int, _frame: object) -> None:
    print(signal.Signals(number).name, flush=True)
    if number == signal.SIGTERM:
        sys.exit(7)


for name in ("SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGTERM", "SIGQUIT", "SIGRTMIN"):
    signal.signal(getattr(signal, name), say)
print("ready", flush=True)
while True:
    time.sleep(0.01)  # not signal.pause(): Python may miss the signal that comes just before

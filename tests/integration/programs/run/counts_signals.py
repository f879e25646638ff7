"""Say at SIGTERM how many real-time signals have come; Python's own handlers would take some for one."""

import signal
import sys

number = signal.SIGRTMIN + 3
signal.pthread_sigmask(signal.SIG_BLOCK, {number, signal.SIGTERM})
print("ready", flush=True)
signal.sigwait({signal.SIGTERM})
count = 0
# The last may still be on their way through the launcher.
while count < 20 and signal.sigtimedwait({number}, 10) is not None:
    count += 1
while signal.sigtimedwait({number}, 0.2) is not None:
    count += 1
print(count)
sys.exit(0)

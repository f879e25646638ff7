"""A shell with job control, for one job: it continues the job when the terminal has stopped it."""

import os
import signal
import sys

signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    _pid, status = os.waitpid(job, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        sys.exit(os.waitstatus_to_exitcode(status))
    print("stopped", flush=True)
    os.killpg(job, signal.SIGCONT)

"""Events in mapped files outlive their process: a child is killed at work, and its trace recovered."""

import os
import signal
import tempfile

import kinetograph as kg
from kinetograph.session.recover import recover_directory

directory = tempfile.mkdtemp()
child = os.fork()
if child == 0:
    kg.enable_profiler(kg.ProfilerConfig(recording=kg.RecordOptions(crash_safe=True, directory=directory)))
    for _ in range(1_000):
        with kg.scope("step"):
            pass
    with kg.scope("the one that never ends"):
        os.kill(os.getpid(), signal.SIGKILL)

os.waitpid(child, 0)
[path] = recover_directory(directory)
trace = kg.load(path)
unfinished = [event.name for event in trace.events if not event.finished]
print(f"{len(trace)} events survived; unfinished: {unfinished}")

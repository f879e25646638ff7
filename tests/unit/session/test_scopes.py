"""The Python side of scopes comes late, and a fork cannot come in the middle of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

FORK_WHILE_LOADING = """
import os, signal, sys, threading, time
import kinetograph as kg

class SlowImport:
    begun = threading.Event()
    forks = threading.Event()

    def find_spec(self, name, path=None, target=None):
        if name == "kinetograph.session.MODULE":
            self.begun.set()
            self.forks.wait()
            time.sleep(0.05)  # to the fork that waits for us, which is the last we can see of it

def record():
    RECORD

sys.meta_path.insert(0, SlowImport())
thread = threading.Thread(target=record)
thread.start()
SlowImport.begun.wait()
# Handlers run last registered first, so this one runs before the one that waits.
os.register_at_fork(before=SlowImport.forks.set)
child = os.fork()
if child == 0:
    signal.alarm(20)
    record()
    os._exit(0)
thread.join()
print(os.waitpid(child, 0)[1])
"""


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.mark.parametrize(
    ("module", "record"),
    [
        ("details", "kg.enable_profiler(), kg.disable_profiler()"),
        ("cycle", "kg.profile().__enter__().stop()"),
    ],
)
def test_a_child_forked_while_another_thread_loads_the_python_side_can_record(
    module: str, record: str
) -> None:
    assert run(FORK_WHILE_LOADING.replace("MODULE", module).replace("RECORD", record)) == "0\n"


def test_a_plain_scope_loads_nothing_and_one_with_metadata_its_python_side() -> None:
    loaded = "print('kinetograph.session.details' in sys.modules)"
    program = f"import sys, kinetograph as kg; kg.scope('a'); {loaded}; kg.scope('b', step=1); {loaded}"
    assert run(program) == "False\nTrue\n"

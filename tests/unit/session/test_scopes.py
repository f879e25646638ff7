"""Parts of us are loaded late, and a fork cannot come in the middle of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FORK_WHILE_LOADING = """
import os, signal, sys, threading, time
import kinetograph as kg

class SlowImport:
    begun = threading.Event()
    forks = threading.Event()

    def find_spec(self, name, path=None, target=None):
        if name == "MODULE":
            self.begun.set()
            self.forks.wait()
            time.sleep(0.05)  # to the fork that waits for us, which is the last we can see of it

def use():
    USE

sys.meta_path.insert(0, SlowImport())
thread = threading.Thread(target=use)
thread.start()
assert SlowImport.begun.wait(20), "it was loaded before"
# Handlers run last registered first, so this one runs before the one that waits.
os.register_at_fork(before=SlowImport.forks.set)
child = os.fork()
if child == 0:
    signal.alarm(20)
    use()
    os._exit(0)
thread.join()
print(os.waitpid(child, 0)[1])
"""


ONE_TRACE = "(kg.enable_profiler(), kg.disable_profiler().trace)[1]"


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.mark.parametrize(
    ("module", "use"),
    [
        ("kinetograph.session.details", "kg.enable_profiler(), kg.disable_profiler()"),
        ("kinetograph.session.cycle", "kg.profile().__enter__().stop()"),
        ("kinetograph.analysis.averages", f"{ONE_TRACE}.key_averages().table()"),
        ("kinetograph.export.chrome", f"{ONE_TRACE}.save('trace.json')"),
        ("numpy", f"{ONE_TRACE}.columns['name']"),
    ],
)
def test_a_child_forked_while_another_thread_loads_a_part_of_us_can_use_it(
    module: str, use: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(FORK_WHILE_LOADING.replace("MODULE", module).replace("USE", use)) == "0\n"


NOTHING_WITHOUT_THE_LOCK = """
import sys
import kinetograph as kg
from kinetograph.fork_locks import loading

class Imports:
    def find_spec(self, name, path=None, target=None):
        if not loading._is_owned():
            print(name)

with kg.profile() as prof, kg.scope("work"):
    pass
trace = prof.trace
sys.meta_path.insert(0, Imports())
USE
"""


@pytest.mark.parametrize(
    "use",
    [
        "prof.key_averages().table()",
        "prof.export_chrome_trace('trace.json.gz')",
        "prof.export_stacks('trace.folded')",
        "trace.save('trace.pftrace.gz')",
        "trace.events.table()",
        "trace.tracks, trace.notes, trace.processes, trace.columns['name']",
        "[(event.name, event.kernels, event.stack, event.args) for event in trace.events]",
        "kg.nvtx.mark('here')",
        "kg.itt.mark('here')",
    ],
)
def test_nothing_of_us_is_loaded_while_no_fork_waits(
    use: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(NOTHING_WITHOUT_THE_LOCK.replace("USE", use)) == ""


def test_a_plain_scope_loads_nothing_and_one_with_metadata_its_python_side() -> None:
    loaded = "print('kinetograph.session.details' in sys.modules)"
    program = f"import sys, kinetograph as kg; kg.scope('a'); {loaded}; kg.scope('b', step=1); {loaded}"
    assert run(program) == "False\nTrue\n"

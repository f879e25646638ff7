"""Captures that a client of the program's own records."""

from __future__ import annotations

import signal
from pathlib import Path

from agents import WAITING, Agents, wait_until


def test_a_client_of_the_programs_own_is_called_as_kineto_does(agents: Agents) -> None:
    registering = """
import sys
import time
import kinetograph as kg

class Client:
    def init(self): self.calls = ["init"]
    def prepare(self, *options): self.calls.append(("prepare", options))
    def start(self): self.calls.append("start")
    def stop(self):
        self.calls.append("stop")
        print(self.calls, flush=True)
    def start_memory_profile(self): pass
    def stop_memory_profile(self): pass
    def export_memory_profile(self, path): pass

kg.ondemand.register_client(Client())
print("ready", flush=True)
sys.stdin.read()
"""
    program = agents.start(registering)
    assert program.stdout is not None
    program.stdout.readline()
    finished = agents.peer(program.pid).captured(duration_ns=1_000_000, with_stack=True)
    assert (finished["answer"], finished["path"]) == ("finished", None)
    expected = ["init", ("prepare", (False, False, True, False, False)), "start", "stop"]
    assert program.stdout.readline().strip() == str(expected)


def test_what_a_client_raises_is_the_answer_and_the_process_goes_on(agents: Agents) -> None:
    failing = """
import sys
import time
import kinetograph as kg

class Client(kg.ondemand.Client):
    def start(self): raise ValueError("not today")

kg.ondemand.register_client(Client())
print("ready", flush=True)
sys.stdin.read()
"""
    program = agents.start(failing)
    assert program.stdout is not None
    program.stdout.readline()
    failed = agents.peer(program.pid).captured()
    assert (failed["answer"], failed["reason"]) == ("failed", "ValueError: not today")
    assert agents.peer(program.pid).asked(b"S")["state"] == "idle"


def test_processes_that_a_client_starts_can_be_interrupted(agents: Agents) -> None:
    starting = """
import signal, subprocess, sys
import kinetograph as kg

class Client(kg.ondemand.Client):
    def stop(self):
        subprocess.run(["grep", "SigBlk", "/proc/self/status"])
        return super().stop()

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
kg.ondemand.register_client(Client())
print("ready", flush=True)
sys.stdin.read()
"""
    program = agents.start(starting)
    assert program.stdout is not None
    program.stdout.readline()
    assert agents.peer(program.pid).captured(duration_ns=1_000_000)["answer"] == "finished"
    assert int(program.stdout.readline().split()[1], 16) == 1 << (signal.SIGUSR1 - 1)


def test_an_interrupt_that_meets_a_client_is_the_programs(agents: Agents) -> None:
    interrupted = """
import time
import kinetograph as kg

class Client(kg.ondemand.Client):
    def start(self): raise KeyboardInterrupt  # as a signal handler may, in the program's thread

kg.ondemand.register_client(Client())
try:
    while True:
        time.sleep(0.001)
        kg.step()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.stdin.read()
"""
    program = agents.start("import sys" + interrupted)
    wait_until(lambda: agents.peer(program.pid).asked(b"S")["step"] > 0)
    failed = agents.peer(program.pid).captured(steps=1)
    assert failed["answer"] == "failed"
    assert failed["reason"].endswith("the program was interrupted: KeyboardInterrupt")
    assert program.stdout is not None
    assert program.stdout.readline() == "interrupted\n"


def test_memory_profiles_are_the_clients_business_and_ours_has_none(agents: Agents) -> None:
    ours = agents.start(WAITING)
    refused = agents.peer(ours.pid).captured(memory_profile=True)
    assert (refused["answer"], refused["reason"].partition(":")[0]) == (
        "refused",
        "memory profiles are not available yet",
    )
    profiling = f"""
import kinetograph as kg
class Client(kg.ondemand.Client):
    def start_memory_profile(self): self.calls = ["start"]
    def stop_memory_profile(self): self.calls.append("stop")
    def export_memory_profile(self, path): open(path, "w").write(" ".join(self.calls))
kg.ondemand.register_client(Client())
print("ready", flush=True)
{WAITING}
"""
    program = agents.start(profiling)
    assert program.stdout is not None
    program.stdout.readline()
    finished = agents.peer(program.pid).captured(memory_profile=True, duration_ns=1_000_000)
    assert Path(finished["path"]).suffix == ".pickle"
    assert Path(finished["path"]).read_text() == "start stop"


def test_what_a_memory_profile_cannot_write_has_failed_and_leaves_nothing(agents: Agents) -> None:
    failing = f"""
import kinetograph as kg
class Client(kg.ondemand.Client):
    def start_memory_profile(self): pass
    def stop_memory_profile(self): pass
    def export_memory_profile(self, path): raise OSError("the disk is full")
kg.ondemand.register_client(Client())
print("ready", flush=True)
{WAITING}
"""
    program = agents.start(failing)
    assert program.stdout is not None
    program.stdout.readline()
    failed = agents.peer(program.pid).captured(memory_profile=True, output="x.pickle", duration_ns=1_000_000)
    assert (failed["answer"], failed["reason"]) == ("failed", "OSError: the disk is full")
    assert not list(agents.captures.iterdir())


# Its start takes as long as somebody wants, and is told of.
SLOW = """
import sys, time
import kinetograph as kg

class Client:
    def __init__(self): self.calls = []
    def init(self): pass
    def prepare(self, *options): pass
    def start(self):
        print("starting", flush=True)
        sys.stdin.readline()
        self.calls.append("started")
    def stop(self): self.calls.append("stopped")
    def start_memory_profile(self): pass
    def stop_memory_profile(self): pass
    def export_memory_profile(self, path): pass

client = Client()
kg.ondemand.register_client(client)
print("ready", flush=True)
while "stopped" not in client.calls:
    time.sleep(0.001)
    kg.step()
print(client.calls, flush=True)
sys.stdin.read()
"""


def test_a_client_that_starts_while_the_capture_is_cancelled_is_stopped(agents: Agents) -> None:
    program = agents.start(SLOW)
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdout.readline()
    peer = agents.peer(program.pid)
    peer.say(b"C", steps=1000)
    assert program.stdout.readline() == "starting\n"
    assert agents.peer(program.pid).asked(b"X")["answer"] == "accepted"
    for _ in range(2):  # the first may be older
        assert peer.hear_until("progress", "cancelled")["answer"] == "progress"
    program.stdin.write("go\n")
    program.stdin.flush()
    assert peer.hear_until("cancelled", "finished")["answer"] == "cancelled"
    assert program.stdout.readline() == "['started', 'stopped']\n"
    assert peer.asked(b"S")["state"] == "idle"


def test_the_steps_of_a_program_do_not_wait_for_a_client_that_starts_at_a_time(agents: Agents) -> None:
    program = agents.start(SLOW)
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdout.readline()
    peer, other = agents.peer(program.pid), agents.peer(program.pid)
    peer.say(b"C", duration_ns=1_000_000)
    assert program.stdout.readline() == "starting\n"
    step = other.asked(b"S")["step"]
    wait_until(lambda: other.asked(b"S")["step"] > step + 10)
    program.stdin.write("go\n")
    program.stdin.flush()
    assert peer.hear_until("finished", "failed")["answer"] == "finished"


def test_a_client_that_prepares_is_not_taken_for_an_idle_one(agents: Agents) -> None:
    preparing = """
import sys
import kinetograph as kg

class Client(kg.ondemand.Client):
    def prepare(self, *options):
        print("preparing", flush=True)
        sys.stdin.readline()
        super().prepare(*options)

kg.ondemand.register_client(Client())
print("ready", flush=True)
sys.stdin.read()
"""
    program = agents.start(preparing)
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdout.readline()
    peer = agents.peer(program.pid)
    peer.say(b"C", duration_ns=1_000_000)
    assert program.stdout.readline() == "preparing\n"
    assert agents.peer(program.pid).asked(b"S")["state"] == "preparing"
    program.stdin.close()
    assert peer.hear_until("finished", "failed", "cancelled")

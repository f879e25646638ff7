"""Processes that end, fork or get signals while somebody looks into them."""

from __future__ import annotations

import os
import signal

import kinetograph as kg
from agents import WAITING, Agents, wait_until


def test_an_exit_in_the_middle_keeps_the_trace(agents: Agents) -> None:
    ending = f"import kinetograph as kg\n{WAITING}\nkg.mark('the end')"
    program = agents.start(ending)
    peer = agents.peer(program.pid)
    peer.say(b"C", duration_ns=3600_000_000_000)
    peer.hear_until("started")
    program.communicate()
    finished = peer.hear_until("finished")
    assert program.returncode == 0
    assert finished["reason"] == "the process was ending"
    assert [event.name for event in kg.load(finished["path"]).events] == ["the end"]
    assert not agents.sockets_of(program.pid)


def test_who_does_not_want_to_wait_for_a_capture_at_exit_interrupts_it(agents: Agents) -> None:
    ending = f"""
import signal, threading
import kinetograph as kg
class Client(kg.ondemand.Client):
    def stop(self): threading.Event().wait()
kg.ondemand.register_client(Client())
signal.signal(signal.SIGINT, signal.default_int_handler)
print("ready", flush=True)
{WAITING}
"""
    program = agents.start(ending)
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdout.readline()
    peer = agents.peer(program.pid)
    peer.say(b"C", duration_ns=3600_000_000_000)
    peer.hear_until("started")
    program.stdin.close()
    wait_until(lambda: agents.peer(program.pid).asked(b"S")["state"] == "writing")
    program.send_signal(signal.SIGINT)
    program.wait(timeout=20)
    assert not agents.sockets_of(program.pid)


def test_a_forked_child_has_its_own_agent_and_the_parent_goes_on(agents: Agents) -> None:
    forking = f"""
import os, sys
sys.stdin.readline()
child = os.fork()
if child:
    print(child, flush=True)
{WAITING}
"""
    program = agents.start(forking)
    peer = agents.peer(program.pid)
    peer.say(b"C", duration_ns=3600_000_000_000)
    peer.hear_until("started")
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write("go\n")
    program.stdin.flush()
    child = int(program.stdout.readline())
    wait_until(lambda: bool(agents.sockets_of(child)))
    assert agents.peer(child).asked(b"S")["pid"] == child
    assert agents.peer(child).captured(duration_ns=1_000_000)["answer"] == "finished"
    agents.peer(program.pid).say(b"X")
    assert peer.hear_until("cancelled")
    os.kill(child, signal.SIGKILL)


def test_forks_while_a_capture_begins_wait_for_nothing_and_say_nothing(agents: Agents) -> None:
    forking = """
import os, sys
sys.stdin.readline()
for _ in range(40):
    child = os.fork()
    if child == 0:
        import json, typing, socket
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
os._exit(0)
"""
    for _ in range(3):
        program = agents.start(forking)
        peer = agents.peer(program.pid)
        assert program.stdin is not None
        program.stdin.write("go\n")
        program.stdin.flush()
        peer.say(b"C", duration_ns=3600_000_000_000)
        assert program.wait() == 0


def test_python_warns_of_no_thread_of_ours_at_a_fork(agents: Agents) -> None:
    """Since 3.12 it warns where there are several. Afterwards both have their agent."""
    forking = """
import os, sys, warnings
warnings.simplefilter("error")
if os.fork() == 0:
    os._exit(0)
os.wait()
print("forked", flush=True)
sys.stdin.read()
"""
    program = agents.start(forking)
    assert program.stdout is not None
    assert program.stdout.readline() == "forked\n"
    assert agents.peer(program.pid).asked(b"S")["state"] == "idle"


def test_a_fork_by_c_code_leaves_the_parent_its_agent_and_the_child_none(agents: Agents) -> None:
    forking = """
import ctypes, os, sys
child = ctypes.CDLL(None).fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
print("forked", flush=True)
sys.stdin.read()
"""
    program = agents.start(forking)
    assert program.stdout is not None
    assert program.stdout.readline() == "forked\n"
    assert agents.peer(program.pid).asked(b"S")["state"] == "idle"
    assert len(list(agents.sockets.iterdir())) == 1


def test_signals_in_the_middle_reach_the_program_and_end_no_capture(agents: Agents) -> None:
    interrupted = """
import signal, threading, time
import kinetograph as kg

def on_signal(number, frame):
    assert threading.current_thread() is threading.main_thread()
    with kg.scope("handled"):
        kg.step()

signal.signal(signal.SIGALRM, on_signal)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
while True:
    with kg.scope("work"):
        time.sleep(0.01)
    kg.step()
"""
    program = agents.start(interrupted)
    peer = agents.peer(program.pid)
    for members in ({"duration_ns": 100_000_000, "with_stack": True}, {"steps": 50}):
        finished = peer.captured(**members)
        assert finished["answer"] == "finished", finished
        names = [event.name for event in kg.load(finished["path"]).events]
        assert "work" in names
        assert names.count("handled") > 10
    assert program.poll() is None

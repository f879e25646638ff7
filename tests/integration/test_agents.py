"""Processes that are looked into while they run, by a peer that speaks to their agents by hand."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import kinetograph as kg
from agents import STEPPING, Agents, Peer, wait_until

WAITING = "import sys; sys.stdin.read()"


def test_an_agent_says_who_it_is_without_an_import_in_the_program(agents: Agents) -> None:
    program = agents.start(WAITING, "--rate", RANK="3", WORLD_SIZE="8", SLURM_JOB_ID="815")
    status = agents.peer(program.pid).asked(b"S")
    assert status["answer"] == "status"
    assert status["pid"] == program.pid
    assert status["command"].endswith("--rate")
    assert (status["rank"], status["job"], status["uid"]) == (3, "815", os.getuid())
    assert (status["step"], status["state"]) == (0, "idle")


def test_a_job_and_a_command_of_any_length_fit_an_answer(agents: Agents) -> None:
    program = agents.start(WAITING, "\x01" * 50_000, KINETOGRAPH_JOB="\x01" * 100_000)
    status = agents.peer(program.pid).asked(b"S")
    assert status["job"] == "\x01" * 256
    assert len(json.dumps(status)) < 64 * 1024


def test_our_own_command_gets_no_agent_and_a_program_that_names_us_does(agents: Agents) -> None:
    environment = agents.environment | {"KINETOGRAPH_AGENT": "1"}
    subprocess.run(agents.command_line("--version"), env=environment, check=True, capture_output=True)
    assert not agents.sockets.exists()
    assert agents.start(WAITING, "kinetograph")


@pytest.mark.parametrize("value", ["", "0", "off"])
def test_the_variable_can_say_no(agents: Agents, value: str) -> None:
    environment = agents.environment | {"KINETOGRAPH_AGENT": value}
    subprocess.run([sys.executable, "-c", "import kinetograph"], env=environment, check=True)
    assert not agents.sockets.exists()


def test_kinetos_variable_counts_where_kinetograph_is_imported(agents: Agents) -> None:
    program = agents.start(f"import kinetograph\n{WAITING}", KINETOGRAPH_AGENT="", KINETO_USE_DAEMON="0")
    assert agents.peer(program.pid).asked(b"S")["pid"] == program.pid


def test_a_capture_holds_what_the_program_did_and_no_thread_of_ours(agents: Agents) -> None:
    program = agents.start(STEPPING)
    finished = agents.peer(program.pid).captured(duration_ns=100_000_000, with_stack=True, trace_id="mine")
    trace = kg.load(finished["path"])
    names = {event.name for event in trace.events}
    assert "work" in names
    assert not [name for name in names if "_bootstrap" in name or "ondemand" in name]
    assert trace.metadata["trace_id"] == "mine"
    assert finished["events"] == len(trace)
    assert finished["size_bytes"] == Path(finished["path"]).stat().st_size
    assert not list(agents.captures.glob("*.kgsession"))


def test_steps_are_captured_whole(agents: Agents) -> None:
    program = agents.start(STEPPING)
    peer = agents.peer(program.pid)
    peer.say(b"C", steps=5, start_step_multiple=10)
    accepted = peer.hear_until("accepted")
    started = peer.hear_until("started")
    assert accepted["start_step"] % 10 == 0
    assert started["step"] >= accepted["start_step"]
    trace = kg.load(peer.hear_until("finished")["path"])
    durations_ns = [event.duration_ns for event in trace.events if event.name == "work"]
    assert len(durations_ns) == 5
    assert min(durations_ns) >= 1_000_000  # as long as it sleeps


def test_the_steps_of_a_profile_count_and_both_record(agents: Agents) -> None:
    profiling = """
import kinetograph as kg
with kg.profile(schedule=kg.schedule(wait=1, warmup=1, active=1)) as profile:
    while True:
        with kg.scope("work"):
            sum(range(100_000))
        profile.step()
"""
    program = agents.start(profiling)
    finished = agents.peer(program.pid).captured(steps=4)
    names = [event.name for event in kg.load(finished["path"]).events]
    assert names.count("work") == 4
    assert len([name for name in names if name.startswith("ProfilerStep#")]) == 4


def test_a_capture_waits_for_its_wall_time(agents: Agents) -> None:
    import time

    program = agents.start(STEPPING)
    start_ns = time.time_ns() + 3_000_000_000  # there is word of it twice a second
    peer = agents.peer(program.pid)
    peer.say(b"C", duration_ns=10_000_000, start_time_ns=start_ns)
    while (progress := peer.hear_until("progress", "started")).get("state") != "waiting":
        assert progress["answer"] == "progress"  # it may have to import first, and says so, too
    assert peer.hear_until("started")["start_ns"] >= start_ns
    assert kg.load(peer.hear_until("finished")["path"]).start_ns >= start_ns


def test_one_process_is_captured_again_and_again(agents: Agents) -> None:
    program = agents.start(STEPPING)
    peer = agents.peer(program.pid)
    for _ in range(3):
        os.unlink(peer.captured(duration_ns=1_000_000)["path"])
    before = _resources(program.pid)
    for _ in range(30):
        os.unlink(peer.captured(duration_ns=1_000_000)["path"])
    descriptors, threads, kilobytes = _resources(program.pid)
    assert (descriptors, threads) == before[:2]
    assert kilobytes < before[2] + 4_000  # it goes up and down by half of that


def _resources(pid: int) -> tuple[int, int, int]:
    """Open descriptors, threads, and memory in kB; once the pool's thread and ours have ended."""
    wait_until(lambda: _threads(pid) <= 2)
    status = Path(f"/proc/{pid}/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return len(os.listdir(f"/proc/{pid}/fd")), _threads(pid), int(resident.split()[1])


def _threads(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))


@pytest.mark.parametrize(
    ("members", "complaint"),
    [
        ({"output": "/etc/trace.json"}, "lies outside"),
        ({"duration_ns": 0}, "duration_ns: expected"),
        ({"activities": ["TPU"]}, "activities"),
        ({"memory_profile": True}, "not available"),
        ({"command": "ls"}, "knows no 'command'"),
        ({"activities": ["\u00e9" * 10_000]}, "activities"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_reason(
    agents: Agents, members: dict[str, object], complaint: str
) -> None:
    program = agents.start(WAITING)
    peer = agents.peer(program.pid)
    refused = peer.captured(**members)
    assert refused["answer"] == "refused"
    assert complaint in refused["reason"]
    assert peer.asked(b"S")["state"] == "idle"


def test_a_capture_can_be_cancelled_and_leaves_nothing(agents: Agents) -> None:
    program = agents.start(STEPPING)
    peer = agents.peer(program.pid)
    peer.say(b"C", duration_ns=3600_000_000_000)
    peer.hear_until("started")
    assert agents.peer(program.pid).asked(b"C")["reason"] == "another capture is running"
    assert agents.peer(program.pid).asked(b"X")["answer"] == "accepted"
    assert peer.hear_until("cancelled")["reason"] == "cancelled"
    assert not list(agents.captures.iterdir())


def test_who_asked_and_went_away_leaves_a_trace_and_an_idle_process(agents: Agents) -> None:
    program = agents.start(STEPPING)
    peer = agents.peer(program.pid)
    peer.say(b"C", steps=1_000_000, output="left.json.gz")
    peer.hear_until("started")
    peer.close()
    wait_until(lambda: agents.peer(program.pid).asked(b"S")["state"] == "idle")
    notes = [note.text for note in kg.load(agents.captures / "left.json.gz").notes]
    assert "it ended before its time: whoever asked was gone" in notes


def test_a_process_that_holds_the_gil_is_listed_and_says_that_it_waits(agents: Agents) -> None:
    holding = """
import ctypes, sys
sys.stdin.readline()
ctypes.PyDLL(None).usleep(1_500_000)  # with the GIL
sys.stdin.readline()
"""
    program = agents.start(holding)
    assert program.stdin is not None
    program.stdin.write("go\n")
    program.stdin.flush()
    wait_until(lambda: _is_in_usleep(program.pid))
    peer = agents.peer(program.pid)
    peer.say(b"C", duration_ns=1_000_000)
    assert peer.hear_until("progress")["state"] == "waiting for the interpreter"
    assert agents.peer(program.pid).asked(b"S")["state"] == "waiting for the interpreter"
    assert peer.hear_until("finished", "failed")["answer"] == "finished"


def _is_in_usleep(pid: int) -> bool:
    return "nanosleep" in Path(f"/proc/{pid}/wchan").read_text()


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


def test_the_next_agent_removes_what_dead_ones_have_left(agents: Agents) -> None:
    dead = agents.start(WAITING)
    dead.kill()
    dead.wait()
    living = agents.start(WAITING)
    assert not agents.sockets_of(dead.pid)
    assert agents.sockets_of(living.pid)


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


def test_a_program_may_start_its_agent_itself_and_allow_a_directory(agents: Agents) -> None:
    allowed = agents.root / "allowed"
    allowed.mkdir()
    starting = f"""
import kinetograph as kg
path = kg.start_agent(directories=({str(allowed)!r},))
assert kg.start_agent() == path
{WAITING}
"""
    program = agents.start(starting, KINETOGRAPH_AGENT="0")
    finished = agents.peer(program.pid).captured(duration_ns=1_000_000, output=str(allowed / "x.pftrace"))
    assert finished["path"] == str(allowed / "x.pftrace")
    assert (allowed / "x.pftrace").exists()


def test_another_user_is_let_go_even_through_an_open_door(agents: Agents) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    program = agents.start(WAITING)
    (path,) = agents.sockets_of(program.pid)
    for opened, mode in ((agents.root, 0o755), (agents.sockets, 0o755), (path, 0o666)):
        opened.chmod(mode)
    child = os.fork()
    if child == 0:
        os.setgid(65534)
        os.setuid(65534)
        peer = Peer(path)
        try:
            peer.say(b"S")
            os._exit(0 if peer.hear() is None else 1)
        except OSError:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert agents.peer(program.pid).asked(b"S")["pid"] == program.pid


def test_root_is_another_user_too_and_can_become_the_right_one(agents: Agents) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    agents.root.chmod(0o755)
    theirs = agents.root / "theirs"
    theirs.mkdir(mode=0o700)
    os.chown(theirs, 65534, 65534)
    as_nobody = f"""
import os
import kinetograph as kg
from kinetograph.ondemand import agent  # which only root may be able to read
os.setgid(65534); os.setuid(65534)
print(kg.start_agent(), flush=True)
{WAITING}
"""
    variables = {"KINETOGRAPH_AGENT": "0", "KINETOGRAPH_RUNTIME_DIR": str(theirs)}
    program = agents.start_without_agent(as_nobody, **variables)
    assert program.stdout is not None
    path = Path(program.stdout.readline().strip())
    peer = Peer(path)
    with suppress(ConnectionError):  # before it has asked, or before the end is heard
        peer.say(b"S")
        assert peer.hear() is None
    peer.close()
    told = agents.command("capture", "--pid", program.pid, "-o", agents.root / "traces")
    assert told.returncode == 1
    assert "sudo -u '#65534' kinetograph capture" in told.stderr
    child = os.fork()
    if child == 0:
        os.setgid(65534)
        os.setuid(65534)
        os._exit(0 if Peer(path).asked(b"S")["pid"] == program.pid else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_nobody_fetched_is_removed_when_it_is_old(agents: Agents) -> None:
    program = agents.start(STEPPING)
    peer = agents.peer(program.pid)
    first, second = (Path(peer.captured(duration_ns=1_000_000)["path"]) for _ in range(2))
    os.utime(first, (0, 0))
    third = Path(peer.captured(duration_ns=1_000_000)["path"])
    wait_until(lambda: not first.exists())
    assert second.exists()
    assert third.exists()


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


def test_nobody_can_take_the_name_of_a_trace_that_is_being_recorded(agents: Agents) -> None:
    program = agents.start(STEPPING)
    peer = agents.peer(program.pid)
    peer.say(b"C", duration_ns=3600_000_000_000, output="mine.json")
    peer.hear_until("started")
    with pytest.raises(FileExistsError):
        (agents.captures / "mine.json").touch(exist_ok=False)
    agents.peer(program.pid).say(b"X")
    peer.hear_until("cancelled")
    assert not (agents.captures / "mine.json").exists()


def test_the_ring_tells_what_was_before_anybody_asked(agents: Agents) -> None:
    program = agents.start(STEPPING, KINETOGRAPH_AGENT_RING="5")
    peer = agents.peer(program.pid)
    wait_until(lambda: peer.asked(b"S")["step"] >= 20)
    assert peer.asked(b"S")["ring_seconds"] == 5
    first = kg.load(peer.captured(ring_dump=True)["path"])
    assert [event.name for event in first.events].count("work") >= 20
    again = kg.load(peer.captured(ring_dump=True)["path"])
    assert first.end_ns - 1_000_000_000 < again.start_ns  # it goes on, and tells nothing twice but its begin


def test_without_a_ring_there_is_nothing_to_dump(agents: Agents) -> None:
    program = agents.start(WAITING)
    refused = agents.peer(program.pid).captured(ring_dump=True)
    assert (refused["answer"], refused["reason"]) == ("refused", "this process keeps no ring")
    assert "KINETOGRAPH_AGENT_RING" in refused["hint"]


def test_a_capture_begins_on_time_while_the_program_holds_the_gil(agents: Agents) -> None:
    """Until that is so, processes of many hosts cannot begin together."""
    code = """
import ctypes, sys, time
sys.stdin.readline()
ctypes.PyDLL(None).usleep(3_000_000)  # which holds the GIL
print(time.time_ns(), flush=True)
sys.stdin.readline()
"""
    program = agents.start(code)
    peer = agents.peer(program.pid)
    start_ns = time.time_ns() + 2_500_000_000
    peer.say(b"C", start_time_ns=start_ns, duration_ns=1_000_000)
    wait_until(lambda: bool(list(agents.captures.glob("*.kgsession"))))  # it is ready
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write("go\n")
    program.stdin.flush()
    begun_ns = peer.hear_until("started")["start_ns"]
    released_ns = int(program.stdout.readline())
    assert start_ns <= begun_ns < released_ns
    assert peer.hear_until("finished")["path"]


def test_a_capture_at_a_wall_time_has_nothing_from_before(agents: Agents) -> None:
    peer = agents.peer(agents.start(STEPPING).pid)
    start_ns = time.time_ns() + 1_500_000_000
    finished = peer.captured(start_time_ns=start_ns, duration_ns=50_000_000)
    work = [event for event in kg.load(finished["path"]).events if event.name == "work"]
    assert min(event.start_ns for event in work) >= start_ns
    # What was open at that time is there, from then on.
    assert min(event.start_ns for event in work) < start_ns + 100_000_000

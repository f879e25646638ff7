"""What an agent is asked for, and what comes of it, as a peer sees it that speaks by hand."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import kinetograph as kg
from agents import STEPPING, WAITING, Agents, wait_until


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


def test_who_withdraws_need_not_wait_for_a_program_that_holds_the_gil(agents: Agents) -> None:
    holding = """
import ctypes, sys
sys.stdin.readline()
print("let go", ctypes.PyDLL(None).poll(0, 0, 60_000), flush=True)  # with the GIL
"""
    program = agents.start(holding)
    assert program.stdin is not None
    program.stdin.write("go\n")
    program.stdin.flush()
    wait_until(lambda: "poll" in Path(f"/proc/{program.pid}/wchan").read_text())
    peer = agents.peer(program.pid)
    peer.say(b"C", duration_ns=1_000_000)
    peer.say(b"X")
    assert peer.hear_until("cancelled", "finished")["answer"] == "cancelled"
    assert agents.peer(program.pid).asked(b"S")["state"] == "waiting for the interpreter"
    assert not agents.captures.exists()


def _is_in_usleep(pid: int) -> bool:
    return "nanosleep" in Path(f"/proc/{pid}/wchan").read_text()


def test_what_nobody_fetched_is_removed_when_it_is_old(agents: Agents) -> None:
    program = agents.start(STEPPING)
    peer = agents.peer(program.pid)
    first, second = (Path(peer.captured(duration_ns=1_000_000)["path"]) for _ in range(2))
    os.utime(first, (0, 0))
    third = Path(peer.captured(duration_ns=1_000_000)["path"])
    wait_until(lambda: not first.exists())
    assert second.exists()
    assert third.exists()


def test_what_a_dead_process_of_the_same_pid_has_left_is_not_taken_for_ones_own(agents: Agents) -> None:
    recording = """
import kinetograph as kg
from kinetograph.session.config import RecordOptions
# The one mapped file that a process has.
kg.enable_profiler(kg.ProfilerConfig(recording=RecordOptions(crash_safe=True)), ["cpu"])
print("ready", flush=True)
"""
    program = agents.start(recording + WAITING)
    assert program.stdout is not None
    program.stdout.readline()
    peer = agents.peer(program.pid)
    os.unlink(peer.captured(duration_ns=1_000_000)["path"])  # and so there is a directory
    (agents.captures / f"{program.pid}-left.kgsession").touch()
    peer.say(b"C", duration_ns=1_000_000)
    assert peer.hear_until("started")["session_file"] is None
    assert peer.hear_until("finished")


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
    first = kg.load(peer.captured(ring_dump=True, trace_id="mine")["path"])
    assert first.metadata["trace_id"] == "mine"
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
start_ns = int(sys.stdin.readline())
time.sleep(max(0, start_ns - 500_000_000 - time.time_ns()) / 1e9)
ctypes.PyDLL(None).usleep(1_000_000)  # which holds the GIL
print(time.time_ns(), flush=True)
sys.stdin.readline()
"""
    program = agents.start(code)
    peer = agents.peer(program.pid)
    start_ns = time.time_ns() + 2_500_000_000
    peer.say(b"C", start_time_ns=start_ns, duration_ns=1_000_000)
    wait_until(lambda: bool(list(agents.captures.glob("*.kgsession"))))  # it is nearly ready
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(f"{start_ns}\n")
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

"""Who an agent is: how it is started, what it says of itself, and whom it lets in."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from agents import WAITING, Agents, Peer


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


def test_a_program_may_start_its_agent_itself_and_allow_a_directory(agents: Agents) -> None:
    allowed = agents.root / "allowed"
    allowed.mkdir()
    starting = f"""
import os
import kinetograph as kg
os.chdir({str(agents.root)!r})
path = kg.start_agent(directories=("allowed",))
assert kg.start_agent() == path
os.chdir("/")
{WAITING}
"""
    program = agents.start(starting, KINETOGRAPH_AGENT="0")
    finished = agents.peer(program.pid).captured(duration_ns=1_000_000, output=str(allowed / "x.pftrace"))
    assert finished["path"] == str(allowed / "x.pftrace")
    assert (allowed / "x.pftrace").exists()


def test_the_next_agent_removes_what_dead_ones_have_left(agents: Agents) -> None:
    dead = agents.start(WAITING)
    dead.kill()
    dead.wait()
    living = agents.start(WAITING)
    assert not agents.sockets_of(dead.pid)
    assert agents.sockets_of(living.pid)


@pytest.mark.parametrize("who", ["the next agent", "ps"])
def test_a_socket_that_never_got_its_name_is_removed(agents: Agents, who: str) -> None:
    """Of a process that was killed before it listened. Another one may be about to."""
    agents.sockets.mkdir(mode=0o700)
    names = ("old", ".agent-{0}-00000001.sock"), ("young", ".agent-{0}-00000002.sock")
    left = {age: agents.sockets / name.format(2**22 + 1) for age, name in names}
    for path in left.values():
        with socket.socket(socket.AF_UNIX) as unready:
            unready.bind(str(path))
    os.utime(left["old"], (0, 0))
    if who == "ps":
        agents.command("ps")
    else:
        agents.start(WAITING)
    assert not left["old"].exists()
    assert left["young"].exists()


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

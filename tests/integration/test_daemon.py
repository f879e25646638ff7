"""`kinetograph daemon` on its host: programs that poll as PyTorch does, clients of dynolog, and its end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import kinetograph as kg
from agents import PATIENCE_SECONDS, STEPPING, Agents, wait_until
from daemons import POLLING, Daemon, kineto_file, own_daemon

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def listed(agents: Agents) -> dict[int, dict[str, object]]:
    rows = map(json.loads, agents.command("ps", "--json").stdout.splitlines())
    return {row["pid"]: row for row in rows}


def test_a_program_that_polls_is_listed_and_captured_like_any_other(daemon: Daemon, tmp_path: Path) -> None:
    polling = daemon.start_polling("train", SLURM_JOB_ID="7", RANK="1", WORLD_SIZE="2")
    stepping = daemon.agents.start(STEPPING, RANK="0", WORLD_SIZE="2")
    rows = listed(daemon.agents)
    assert set(rows) == {polling.pid, stepping.pid}
    row = rows[polling.pid]
    assert (row["job"], row["rank"], row["state"], row["recorder"]) == ("7", 1, "idle", "kineto")
    assert str(row["command"]).endswith("train")
    done = daemon.agents.command("capture", "--all", "--duration", "20ms", "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    host = os.uname().nodename
    expected = {f"{host}-rank1-{polling.pid}.json", f"{host}-rank0-{stepping.pid}.json.gz"}
    assert {Path(path).name for path in done.stdout.splitlines()} == expected
    (event,) = kg.load(tmp_path / f"{host}-rank1-{polling.pid}.json").events
    assert event.name == "aten::mm"
    assert not list(daemon.agents.captures.iterdir())


def test_what_is_asked_for_reaches_the_program(daemon: Daemon, tmp_path: Path) -> None:
    daemon.start_polling()
    options = (
        "--steps",
        3,
        "--start-step-multiple",
        10,
        "--with-stack",
        "--record-shapes",
        "--trace-id",
        "t",
    )
    done = daemon.agents.command("capture", "--all", *options, "-o", tmp_path)
    told = kineto_file(Path(done.stdout.strip())).splitlines()
    assert {
        "ACTIVITIES_ITERATIONS=3",
        "PROFILE_START_ITERATION_ROUNDUP=10",
        "PROFILE_WITH_STACK=true",
        "PROFILE_REPORT_INPUT_SHAPES=true",
        "REQUEST_TRACE_ID=t",
    } <= set(told)


def test_a_program_that_polls_and_has_an_agent_is_asked_through_the_agent(daemon: Daemon) -> None:
    program = daemon.start_polling(KINETOGRAPH_AGENT="1")
    assert len(list(daemon.agents.sockets.glob(f"*-{program.pid}-*.sock"))) == 2
    (row,) = listed(daemon.agents).values()
    assert (row["pid"], row["recorder"]) == (program.pid, "kinetograph")


def test_a_program_that_ends_in_the_middle_is_told_of_and_forgotten(daemon: Daemon, tmp_path: Path) -> None:
    polling = daemon.start_polling("dies")
    done = daemon.agents.command("capture", "--all", "-o", tmp_path)
    assert done.returncode == 1
    assert "the process ended in the middle of it" in done.stderr
    assert polling.wait() == 1
    wait_until(lambda: not list(daemon.agents.sockets.iterdir()))
    wait_until(lambda: [path.name for path in daemon.kineto.iterdir()] == ["dynolog"])
    assert not list(daemon.agents.captures.iterdir())


def test_a_capture_can_be_withdrawn_and_its_file_goes_when_it_comes(daemon: Daemon, tmp_path: Path) -> None:
    polling = daemon.start_polling()
    capturing = subprocess.Popen(
        daemon.agents.command_line("capture", "--all", "--duration", "500ms", "-o", tmp_path),
        env=daemon.agents.environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: bool(list(daemon.agents.captures.glob("*.tmp"))))  # it records
    capturing.send_signal(signal.SIGINT)
    _stdout, stderr = capturing.communicate()
    assert "was not captured, cancelled" in stderr
    wait_until(lambda: not list(daemon.agents.captures.iterdir()))
    assert polling.poll() is None


# Started in a network namespace of its own, where no other daemon can have the name.
IN_NAMESPACE = """
import os, subprocess, sys
command = [sys.executable, "-m", "kinetograph", "daemon", "--port", "0"]
daemon = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
print(daemon.stderr.readline(), flush=True)
polling = subprocess.Popen([sys.executable, "-c", sys.argv[1]])
sockets = os.environ["KINETOGRAPH_RUNTIME_DIR"]
while f"kineto-{polling.pid}-" not in str(os.listdir(sockets)):
    assert daemon.poll() is None
print("found", flush=True)
polling.kill(), daemon.terminate(), polling.wait(), daemon.wait()
"""


def test_without_a_directory_the_abstract_socket_of_kineto_is_used(agents: Agents) -> None:
    in_namespace = ["unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh"]
    if subprocess.run([*in_namespace, "true"], capture_output=True).returncode:
        pytest.skip("no network namespace can be made here")
    done = subprocess.run(
        [*in_namespace, sys.executable, "-c", IN_NAMESPACE, POLLING],
        env=agents.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert "the abstract socket 'dynolog'" in done.stdout, done.stderr
    assert done.stdout.endswith("found\n")


# dynolog's calls


def test_clients_of_dynolog_are_answered(daemon: Daemon) -> None:
    assert daemon.call("getStatus") == {"status": 1}
    assert daemon.call("getVersion") == {"version": version("kinetograph")}
    assert daemon.call("dcgmProfPause") is None


def test_a_client_of_dynolog_triggers_a_capture(daemon: Daemon, tmp_path: Path) -> None:
    one, two = daemon.start_polling(SLURM_JOB_ID="7"), daemon.start_polling()
    captures = daemon.agents.captures
    config = f"ACTIVITIES_LOG_FILE={captures}/x.json\nACTIVITIES_DURATION_MSECS=1\n"
    answer = daemon.call("setKinetOnDemandRequest", config=config, pids=[0], job_id=7, process_limit=3)
    assert answer == {
        "processesMatched": [one.pid],
        "activityProfilersTriggered": [one.pid],
        "eventProfilersTriggered": [],
        "activityProfilersBusy": 0,
        "eventProfilersBusy": 0,
    }
    wait_until((captures / f"x_{one.pid}.json").exists)
    assert "REQUEST_TRACE_ID=" in kineto_file(captures / f"x_{one.pid}.json")
    by_parent = daemon.call("setKinetOnDemandRequest", config=config, pids=[os.getpid()])
    assert by_parent is not None
    assert by_parent["activityProfilersTriggered"] == [two.pid]
    wait_until((captures / f"x_{two.pid}.json").exists)
    assert daemon.call("setKinetOnDemandRequest", config=config, pids=[1 << 30]) is not None


def test_a_client_of_dynolog_triggers_processes_with_an_agent_too(daemon: Daemon) -> None:
    polling, stepping = daemon.start_polling(), daemon.agents.start(STEPPING)
    of_job = daemon.agents.start(STEPPING, SLURM_JOB_ID="7")
    wait_until(
        lambda: all(row["step"] for row in listed(daemon.agents).values() if row["pid"] != polling.pid)
    )
    captures = daemon.agents.captures
    config = f"ACTIVITIES_LOG_FILE={captures}/x.json\nACTIVITIES_DURATION_MSECS=20\n"
    answer = daemon.call("setKinetOnDemandRequest", config=config, pids=[os.getpid()])
    assert answer is not None
    assert answer["processesMatched"] == answer["activityProfilersTriggered"] == [polling.pid, stepping.pid]
    for pid in (polling.pid, stepping.pid):
        wait_until((captures / f"x_{pid}.json").exists)
    assert "work" in [event.name for event in kg.load(captures / f"x_{stepping.pid}.json").events]
    # By its job and its steps; and nothing of the first one is left.
    config = (
        f"ACTIVITIES_LOG_FILE={captures}/y.json\nPROFILE_START_ITERATION_ROUNDUP=10\nACTIVITIES_ITERATIONS=3"
    )
    answer = daemon.call("setKinetOnDemandRequest", config=config, pids=[0], job_id=7, process_limit=3)
    assert answer is not None
    assert answer["activityProfilersTriggered"] == [of_job.pid]
    wait_until((captures / f"y_{of_job.pid}.json").exists)
    events = kg.load(captures / f"y_{of_job.pid}.json").events
    assert [event.name for event in events].count("work") == 3
    left = {"x_{0}.json", "y_{0}.json"}
    wait_until(lambda: {path.name.replace(path.stem[2:], "{0}") for path in captures.iterdir()} == left)


def test_a_trace_for_a_client_of_dynolog_is_as_closed_as_the_program_makes_its_files(daemon: Daemon) -> None:
    program = daemon.agents.start("import os; os.umask(0o077)\n" + STEPPING)
    wait_until(lambda: listed(daemon.agents)[program.pid]["step"] > 0)
    config = f"ACTIVITIES_LOG_FILE={daemon.agents.captures}/x.json\nACTIVITIES_DURATION_MSECS=1\n"
    daemon.call("setKinetOnDemandRequest", config=config, pids=[program.pid])
    path = daemon.agents.captures / f"x_{program.pid}.json"
    wait_until(path.exists)
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_keeps_a_client_of_dynolog_from_its_trace_is_told(daemon: Daemon) -> None:
    program = daemon.agents.start(STEPPING)
    daemon.agents.captures.parent.chmod(0o755)  # and so it is no directory of ours any more
    config = f"ACTIVITIES_LOG_FILE={daemon.agents.root}/x.json\n"
    answer = daemon.call("setKinetOnDemandRequest", config=config, pids=[])
    assert answer is not None
    assert answer["activityProfilersTriggered"] == [program.pid]
    assert daemon.process.stderr is not None
    told = daemon.process.stderr.readline()
    assert f"process {program.pid} gave no trace to a client of dynolog" in told
    assert "no directory that only this user can enter" in told


def test_clients_of_dynolog_ask_for_no_more_than_they_may(daemon: Daemon) -> None:
    """Not over a file, nor twice at once, nor more than they said; and an end of the daemon ends it."""
    one, two = daemon.agents.start(STEPPING), daemon.agents.start(STEPPING)
    captures = daemon.agents.captures
    captures.mkdir(parents=True, exist_ok=True)
    (captures / f"x_{one.pid}.json").symlink_to("/etc/passwd")
    config = f"ACTIVITIES_LOG_FILE={captures}/x.json\nACTIVITIES_DURATION_SECS=3600\n"
    none = daemon.call("setKinetOnDemandRequest", config=config, pids=[two.pid], process_limit=0)
    assert none is not None
    assert (none["processesMatched"], none["activityProfilersTriggered"]) == ([two.pid], [])
    for triggered, busy in (([two.pid], 1), ([], 2)):
        answer = daemon.call("setKinetOnDemandRequest", config=config, pids=[])
        assert answer is not None
        assert (answer["activityProfilersTriggered"], answer["activityProfilersBusy"]) == (triggered, busy)
    peer = daemon.agents.peer(two.pid)
    wait_until(lambda: peer.asked(b"S")["state"] == "recording")
    daemon.process.terminate()
    assert daemon.process.wait() == 0
    wait_until(lambda: peer.asked(b"S")["state"] == "idle")
    assert list(captures.glob("*.json.gz"))
    peer.close()


@pytest.mark.parametrize(
    "config",
    [
        "ACTIVITIES_LOG_FILE=/etc/x.json",
        "ACTIVITIES_LOG_FILE=/tmp/../etc/x.json",
        "PROFILE_MEMORY=1",
        "",
        None,
    ],
)
def test_a_config_that_names_what_it_may_not_fails(daemon: Daemon, config: str | None) -> None:
    polling = daemon.start_polling()
    answer = daemon.call("setKinetOnDemandRequest", config=config, pids=[])
    assert answer is not None
    assert str(answer["status"]).startswith("failed: config: ")
    assert listed(daemon.agents)[polling.pid]["state"] == "idle"


# Its beginning and its end


def test_a_daemon_that_was_killed_leaves_nothing_in_the_way(agents: Agents, tmp_path: Path) -> None:
    with own_daemon(agents) as first:
        program = first.start_polling()
        first.process.kill()
        first.process.wait()
        assert list(agents.sockets.glob("kineto-*.sock"))
        assert listed(agents) == {}
        assert not list(agents.sockets.glob("kineto-*.sock"))
        with own_daemon(agents):
            # The program goes on polling, whoever answers.
            wait_until(lambda: program.pid in listed(agents))
            done = agents.command("capture", "--all", "--duration", "1ms", "-o", tmp_path)
            assert done.returncode == 0, done.stderr


def test_what_a_program_records_when_its_daemon_is_killed_stays(agents: Agents, tmp_path: Path) -> None:
    with own_daemon(agents) as daemon:
        polling = daemon.start_polling()
        capturing = subprocess.Popen(
            agents.command_line("capture", "--all", "--duration", "500ms", "-o", tmp_path),
            env=agents.environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_until(lambda: bool(list(agents.captures.glob("*.tmp"))))  # it records
        daemon.process.kill()
        _stdout, stderr = capturing.communicate()
    assert capturing.returncode == 1
    assert "was not captured, failed: the connection has ended" in stderr
    wait_until(lambda: bool(list(agents.captures.glob(f"kineto-*_{polling.pid}.json"))))


def test_a_daemon_that_ends_removes_its_sockets(daemon: Daemon) -> None:
    daemon.start_polling()
    daemon.process.terminate()
    assert daemon.process.wait() == 0
    assert not list(daemon.agents.sockets.iterdir())
    assert not (daemon.kineto / "dynolog").exists()


def test_two_daemons_do_not_share_a_socket(daemon: Daemon) -> None:
    second = subprocess.run(
        daemon.agents.command_line("daemon", "--port", 0),
        env=daemon.environment,
        capture_output=True,
        text=True,
    )
    assert second.returncode == 1
    assert "another daemon listens to PyTorch's processes here" in second.stderr
    third = subprocess.run(
        daemon.agents.command_line("daemon", "--no-kineto", "--port", daemon.port),
        env=daemon.environment,
        capture_output=True,
        text=True,
    )
    assert third.returncode == 1
    assert f"cannot listen at 127.0.0.1:{daemon.port}" in third.stderr
    assert daemon.call("getStatus") == {"status": 1}


def test_a_daemon_says_where_it_cannot_listen(agents: Agents) -> None:
    for variable in ("KINETOGRAPH_RUNTIME_DIR", "KINETO_IPC_SOCKET_DIR"):
        done = subprocess.run(
            agents.command_line("daemon", "--port", 0),
            env=agents.environment | {variable: "/nonexistent/there"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1
        assert done.stderr.startswith("kinetograph: cannot ")
        assert "/nonexistent/there" in done.stderr
    too_long = agents.root / ("long" * 30)
    too_long.mkdir()
    assert "path too long" in agents.command("daemon", "--port", 0, "--kineto-directory", too_long).stderr


def test_a_program_that_cannot_be_listed_is_told_of_and_answered_all_the_same(agents: Agents) -> None:
    with own_daemon(agents) as daemon:
        agents.sockets.rmdir()
        agents.sockets.touch()  # where a directory should be
        program = agents.start_without_agent(POLLING, KINETO_IPC_SOCKET_DIR=str(daemon.kineto))
        assert daemon.process.stderr is not None
        assert f"process {program.pid} of PyTorch cannot be listed" in daemon.process.stderr.readline()
        config = f"ACTIVITIES_LOG_FILE={agents.captures}/x.json"
        answer = daemon.call("setKinetOnDemandRequest", config=config, pids=[])
        assert answer is not None
        assert answer["activityProfilersTriggered"] == [program.pid]
        wait_until((agents.captures / f"x_{program.pid}.json").exists)
        program.kill()
        program.wait()
        wait_until(
            lambda: daemon.call("setKinetOnDemandRequest", config=config, pids=[])["processesMatched"] == []
        )


# Other users


@needs_root
def test_a_process_of_another_user_is_not_heard_and_cannot_call(daemon: Daemon) -> None:
    daemon.agents.root.chmod(0o755)
    daemon.kineto.chmod(0o777)
    (daemon.kineto / "dynolog").chmod(0o666)
    code = f"""
import os, socket, struct
os.setgid(65534); os.setuid(65534)
client = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
client.bind({str(daemon.kineto / "other")!r})
client.settimeout(0.5)
payload = struct.pack("=iiqi", 3, 1, 0, os.getpid())
client.sendto(struct.pack("=Q32s", len(payload), b"req") + payload, {str(daemon.kineto / "dynolog")!r})
try:
    print("answered", client.recv(1000))
except TimeoutError:
    print("nobody")
with socket.socket() as call:
    call.connect(("127.0.0.1", {daemon.port}))
    text = b'{{"fn": "getStatus"}}'
    call.sendall(struct.pack("=i", len(text)) + text)
    try:
        print(call.recv(1000))
    except ConnectionResetError:
        print(b"")
"""
    other = daemon.agents.start_without_agent(code)
    stdout, _ = other.communicate()
    assert stdout.splitlines() == ["nobody", "b''"]
    assert listed(daemon.agents) == {}
    assert daemon.call("getStatus") == {"status": 1}


@needs_root
def test_with_all_users_a_process_of_another_user_is_captured(agents: Agents, tmp_path: Path) -> None:
    agents.root.chmod(0o755)
    with own_daemon(agents, "--all-users") as daemon:
        daemon.kineto.chmod(0o777)
        # Once it has imported what it needs, which only this user may be able to read.
        as_nobody = POLLING.replace("client =", "os.setgid(65534); os.setuid(65534); client =", 1)
        program = agents.start_without_agent(as_nobody, KINETO_IPC_SOCKET_DIR=str(daemon.kineto))
        wait_until(lambda: program.pid in listed(agents))
        done = agents.command("capture", "--all", "--duration", "1ms", "-o", tmp_path)
        assert done.returncode == 0, done.stderr
        assert [event.name for event in kg.load(done.stdout.strip()).events] == ["aten::mm"]
        daemon.process.terminate()
        daemon.process.wait()


def test_datagrams_that_are_none_of_kinetos_are_dropped(daemon: Daemon) -> None:
    path = str(daemon.kineto / "dynolog")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        for sent in (b"", b"x", b"\xff" * 40, b"\0" * 40, b"\xff" * 60_000):
            client.sendto(sent, path)
    polling = daemon.start_polling()
    assert set(listed(daemon.agents)) == {polling.pid}


def test_a_poll_of_somebody_who_cannot_be_answered_is_dropped(daemon: Daemon) -> None:
    payload = struct.pack("=iiqi", 3, 1, 0, os.getpid())
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as unbound:
        unbound.sendto(struct.pack("=Q32s", len(payload), b"req") + payload, str(daemon.kineto / "dynolog"))
    polling = daemon.start_polling()
    assert set(listed(daemon.agents)) == {polling.pid}


def test_a_file_that_is_no_socket_is_left_alone(agents: Agents) -> None:
    """Somebody may name the folder of dynolog's own program, and a file refuses connections, too."""
    kineto = agents.root / "kineto"
    kineto.mkdir()
    (kineto / "dynolog").write_text("a program")
    done = agents.command("daemon", "--port", 0, "--kineto-directory", kineto)
    assert done.returncode == 1
    assert "is taken" in done.stderr
    assert (kineto / "dynolog").read_text() == "a program"


def test_where_files_go_is_made_again(daemon: Daemon, tmp_path: Path) -> None:
    daemon.start_polling()
    shutil.rmtree(daemon.agents.captures.parent)
    done = daemon.agents.command("capture", "--all", "--duration", "1ms", "-o", tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_program_whose_socket_was_removed_is_listed_again_with_its_next_poll(daemon: Daemon) -> None:
    polling = daemon.start_polling()
    for path in daemon.agents.sockets.iterdir():
        path.unlink()
    wait_until(lambda: bool(list(daemon.agents.sockets.glob("kineto-*.sock"))))
    assert set(listed(daemon.agents)) == {polling.pid}

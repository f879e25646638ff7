"""`kinetograph capture --hosts`: eight processes on three hosts, which are addresses of the loopback."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import kinetograph as kg
from agents import STEPPING, Agents, own_agents, wait_until
from daemons import own_daemon

ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.0.0.3")

# Something is open at all times, so a trace shows when it begins.
PROGRAM = """
import time
import kinetograph as kg
with kg.scope("always"):
    while True:
        with kg.scope("work"):
            time.sleep(0.001)
        kg.step()
"""


class Cluster:
    """Three hosts with a daemon each, and eight ranks on them."""

    def __init__(self, stack: ExitStack) -> None:
        self.daemons = [
            stack.enter_context(own_daemon(stack.enter_context(own_agents()), address=address))
            for address in ADDRESSES
        ]
        self.ranks = [
            self.daemons[rank % 3].agents.start(PROGRAM, RANK=str(rank), WORLD_SIZE="8") for rank in range(8)
        ]

    @property
    def hosts(self) -> str:
        return ",".join(daemon.host for daemon in self.daemons)

    def command(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return self.daemons[0].agents.command(*arguments)

    def capture(self, directory: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
        return self.command("capture", "--hosts", self.hosts, "--all", "-o", directory, *arguments)

    def expected(self, *ranks: int) -> set[str]:
        """Names of files, by host and rank."""
        return {
            f"{self.daemons[rank % 3].host.replace(':', '_')}-rank{rank}-{self.ranks[rank].pid}.json.gz"
            for rank in ranks
        }


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with ExitStack() as stack:
        yield Cluster(stack)


def names(done: subprocess.CompletedProcess[str]) -> set[str]:
    return {Path(path).name for path in done.stdout.splitlines()}


def test_eight_processes_on_three_hosts_are_captured_together_and_merged(
    cluster: Cluster, tmp_path: Path
) -> None:
    done = cluster.capture(tmp_path / "traces", "--duration", "200ms")
    assert done.returncode == 0, done.stderr
    assert names(done) == cluster.expected(*range(8))
    assert {path.name for path in (tmp_path / "traces").iterdir()} == names(done)
    for daemon in cluster.daemons:
        wait_until(lambda captures=daemon.agents.captures: not list(captures.iterdir()))
    begins = sorted(
        min(event.start_ns for event in kg.load(path).events) for path in done.stdout.splitlines()
    )
    # On fewer cores than there are processes, one or two may wait for their turn.
    assert begins[5] - begins[0] < 5_000_000
    assert begins[-1] - begins[0] < 100_000_000
    merged = cluster.command("merge", tmp_path / "traces", "-o", tmp_path / "all.pftrace")
    assert merged.returncode == 0, merged.stderr
    trace = kg.load(tmp_path / "all.pftrace")
    labels = " ".join(process.labels for process in trace.processes)
    host = os.uname().nodename
    assert all(f"rank {rank} on {host}" in labels for rank in range(8))
    assert len({process.pid for process in trace.processes}) == 8
    assert len(trace) == sum(len(kg.load(path)) for path in done.stdout.splitlines())


def test_ps_lists_the_processes_of_all_hosts(cluster: Cluster) -> None:
    listed = cluster.command("ps", "--json", "--hosts", cluster.hosts)
    assert listed.returncode == 0, listed.stderr
    rows = map(json.loads, listed.stdout.splitlines())
    assert {(row["host"], row["rank"], row["pid"]) for row in rows} == {
        (cluster.daemons[rank % 3].host, rank, cluster.ranks[rank].pid) for rank in range(8)
    }
    gone = cluster.command("ps", "--hosts", f"{cluster.daemons[0].host},127.0.0.4:9")
    assert gone.returncode == 3
    assert "host 127.0.0.4:9: nobody listens there: does `kinetograph daemon` run?" in gone.stderr
    assert gone.stdout.splitlines()[0].split()[0] == "HOST"


def test_a_host_that_is_down_and_one_that_is_slow_do_not_spoil_the_rest(
    cluster: Cluster, tmp_path: Path
) -> None:
    """The second is slow to answer, and the third is gone; the files of the second come late."""
    down, slow = cluster.daemons[2], cluster.daemons[1]
    down.process.kill()
    down.process.wait()
    slow.process.send_signal(signal.SIGSTOP)
    waker = threading.Timer(1.5, slow.process.send_signal, (signal.SIGCONT,))
    waker.start()
    done = cluster.capture(tmp_path, "--duration", "100ms")
    waker.join()
    assert done.returncode == 3
    assert f"host {down.host} was not captured: " in done.stderr
    assert names(done) == cluster.expected(0, 1, 3, 4, 6, 7)


def test_a_host_that_never_answers_is_given_up(cluster: Cluster, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.9", 0)) as silent:
        hosts = f"{cluster.daemons[0].host},127.0.0.9:{silent.getsockname()[1]}"
        done = cluster.command("capture", "--hosts", hosts, "--all", "--duration", "1ms", "-o", tmp_path)
    assert done.returncode == 3
    assert "was not captured: it does not answer" in done.stderr
    assert names(done) == cluster.expected(0, 3, 6)


def capturing(cluster: Cluster, directory: Path) -> subprocess.Popen[str]:
    """One that goes on for an hour; all processes record when this returns."""
    program = subprocess.Popen(
        cluster.daemons[0].agents.command_line(
            "capture", "--hosts", cluster.hosts, "--all", "--duration", "3600s", "-o", directory
        ),
        env=cluster.daemons[0].agents.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for rank, process in enumerate(cluster.ranks):
        agents = cluster.daemons[rank % 3].agents
        wait_until(lambda agents=agents, pid=process.pid: _state(agents, pid) == "recording")
    return program


def _state(agents: Agents, pid: int) -> str:
    return str(agents.peer(pid).asked(b"S")["state"])


def test_a_process_that_is_killed_in_the_middle_gives_what_it_had(cluster: Cluster, tmp_path: Path) -> None:
    program = capturing(cluster, tmp_path)
    for process in cluster.ranks:
        process.kill()
    stdout, stderr = program.communicate()
    assert program.returncode == 0, stderr
    assert stderr.count("the process ended in the middle of it") >= 8
    assert {Path(path).name for path in stdout.splitlines()} == cluster.expected(*range(8))
    assert all("work" in [event.name for event in kg.load(path).events] for path in stdout.splitlines())


def test_a_daemon_that_is_killed_in_the_middle_costs_its_own_host_only(
    cluster: Cluster, tmp_path: Path
) -> None:
    """What was recorded there stays, in the directory of captures of that host."""
    program = capturing(cluster, tmp_path)
    lost = cluster.daemons[1]
    lost.process.kill()
    lost.process.wait()
    wait_until(lambda: len(list(lost.agents.captures.glob("*.json.gz"))) == 3)
    for rank in (0, 2, 3, 5, 6):
        cluster.ranks[rank].send_signal(signal.SIGKILL)
    stdout, stderr = program.communicate()
    assert program.returncode == 3
    assert stderr.count("nothing more came from its host: its daemon has hung up") == 3
    assert {Path(path).name for path in stdout.splitlines()} == cluster.expected(0, 2, 3, 5, 6)
    assert all(len(kg.load(path)) for path in lost.agents.captures.glob("*.json.gz"))


@pytest.mark.parametrize("seconds", [0.3, 0.9, 1.5, 2.3, 2.6])
def test_whenever_a_daemon_is_killed_nothing_else_is_harmed(tmp_path: Path, seconds: float) -> None:
    """While the command starts, asks, waits for the common time, records, or fetches."""
    with own_agents() as agents, own_daemon(agents) as daemon:
        program = agents.start(STEPPING)
        capturing = subprocess.Popen(
            agents.command_line(
                "capture", "--hosts", daemon.host, "--all", "--duration", "200ms", "-o", tmp_path
            ),
            env=agents.environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(seconds)
        daemon.process.kill()
        _stdout, stderr = capturing.communicate()
        assert "Traceback" not in stderr
        wait_until(lambda: _state(agents, program.pid) == "idle")
        assert not list(tmp_path.glob("*.part"))
        for path in (*tmp_path.iterdir(), *agents.captures.rglob("*.json.gz")):
            assert "work" in [event.name for event in kg.load(path).events]
        assert agents.peer(program.pid).captured(duration_ns=1_000_000)["answer"] == "finished"


def test_an_interrupted_capture_is_withdrawn_everywhere(cluster: Cluster, tmp_path: Path) -> None:
    program = capturing(cluster, tmp_path)
    program.send_signal(signal.SIGINT)
    stdout, stderr = program.communicate()
    assert (program.returncode, stdout) == (1, "")
    assert stderr.count("was not captured, cancelled") == 8
    for rank, process in enumerate(cluster.ranks):
        assert _state(cluster.daemons[rank % 3].agents, process.pid) == "idle"


def test_a_job_of_slurm_is_captured_where_it_runs(tmp_path: Path) -> None:
    with own_agents() as agents, own_daemon(agents) as daemon:
        of_job, _other = agents.start(STEPPING, SLURM_JOB_ID="816"), agents.start(STEPPING)
        for name, said in (("squeue", "816 nodes[1]"), ("scontrol", daemon.host)):
            (agents.root / name).write_text(f"#!/bin/sh\necho '{said}'\n")
            (agents.root / name).chmod(0o755)
        done = subprocess.run(
            agents.command_line("capture", "--slurm", "815_3", "--duration", "1ms", "-q", "-o", tmp_path),
            env=agents.environment | {"PATH": f"{agents.root}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
        )
    assert (done.returncode, done.stderr) == (0, "")
    (name,) = names(done)
    assert name.endswith(f"-{of_job.pid}.json.gz")


def test_hosts_come_from_a_file(cluster: Cluster, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("# ours\n" + cluster.hosts.replace(",", "\n"))
    done = cluster.command(
        "capture", "--hosts-file", hosts, "--name", "python", "--duration", "1ms", "-q", "-o", tmp_path / "a"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert names(done) == cluster.expected(*range(8))
    both = cluster.command("capture", "--hosts", "a", "--hosts-file", hosts, "--all", "-o", tmp_path / "b")
    assert both.returncode == 1
    assert "exclude each other" in both.stderr

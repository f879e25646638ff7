"""`kinetograph ps` and `kinetograph capture` on programs that run, and end in every way in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import kinetograph as kg
from agents import PATIENCE_SECONDS, STEPPING, WAITING, Agents, wait_until

ENDINGS = {
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
    "SIGTERM": "os.kill(os.getpid(), signal.SIGTERM)",
    "SIGSEGV": "resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.kill(os.getpid(), signal.SIGSEGV)",
    "os._exit": "os._exit(3)",
    "exec": "os.execv('/bin/true', ['true'])",
}


def test_ps_lists_who_has_an_agent(agents: Agents) -> None:
    one = agents.start(STEPPING, SLURM_JOB_ID="7")
    two = agents.start(STEPPING, RANK="1", WORLD_SIZE="2")
    listed = agents.command("ps")
    assert listed.returncode == 0
    heading, *rows = listed.stdout.splitlines()
    assert heading.split() == ["PID", "USER", "JOB", "RANK", "STEP", "STATE", "COMMAND"]
    cells = {int(row.split()[0]): row.split() for row in rows}
    assert set(cells) == {one.pid, two.pid}
    assert cells[one.pid][2] == "7"
    assert cells[two.pid][3] == "1"
    as_json = [json.loads(line) for line in agents.command("ps", "--json").stdout.splitlines()]
    assert {process["pid"]: process["job"] for process in as_json} == {one.pid: "7", two.pid: None}


def test_ps_without_anybody_says_how_to_get_somebody(agents: Agents) -> None:
    listed = agents.command("ps")
    assert (listed.returncode, listed.stdout) == (0, "")
    assert "KINETOGRAPH_AGENT=1" in listed.stderr


def test_ps_removes_what_a_killed_process_has_left(agents: Agents) -> None:
    program = agents.start(STEPPING)
    program.kill()
    program.wait()
    (left,) = agents.sockets_of(program.pid)
    assert agents.command("ps", "--json").stdout == ""
    assert not left.exists()


def test_ps_does_not_wait_for_a_stopped_process(agents: Agents) -> None:
    stopped, running = agents.start(STEPPING), agents.start(STEPPING)
    stopped.send_signal(signal.SIGSTOP)
    wait_until(lambda: "T (stopped)" in Path(f"/proc/{stopped.pid}/status").read_text())
    listed = [json.loads(line) for line in agents.command("ps", "--json").stdout.splitlines()]
    states = {process["pid"]: process["state"] for process in listed}
    assert states == {stopped.pid: "silent", running.pid: "idle"}


def test_captures_of_several_processes_come_into_one_directory(agents: Agents, tmp_path: Path) -> None:
    programs = [agents.start(STEPPING, RANK=str(rank), WORLD_SIZE="2") for rank in range(2)]
    done = agents.command("capture", "--all", "--steps", 3, "-o", tmp_path / "new")
    assert done.returncode == 0, done.stderr
    paths = done.stdout.splitlines()
    host = os.uname().nodename
    expected = [tmp_path / "new" / f"{host}-rank{rank}-{programs[rank].pid}.json.gz" for rank in range(2)]
    assert sorted(paths) == sorted(map(str, expected))
    for path in paths:
        assert [event.name for event in kg.load(path).events].count("work") == 3
    assert not list(agents.captures.iterdir())


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_process_that_ends_in_the_middle_leaves_what_it_recorded(
    agents: Agents, tmp_path: Path, ending: str
) -> None:
    code = f"""
import os, resource, signal, sys
import kinetograph as kg
sys.stdin.readline()
kg.mark("the last")
{ENDINGS[ending]}
"""
    program = agents.start(code)
    capturing = subprocess.Popen(
        agents.command_line("capture", "--pid", program.pid, "--duration", "3600s", "-o", tmp_path),
        env=agents.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: _state(agents, program.pid) == "recording")
    program.communicate("go\n")
    stdout, stderr = capturing.communicate()
    assert capturing.returncode == 0, stderr
    assert "the process ended in the middle of it" in stderr
    trace = kg.load(stdout.strip())
    assert "the last" in [event.name for event in trace.events]
    assert not list(agents.captures.iterdir())


def _state(agents: Agents, pid: int) -> str:
    return str(agents.peer(pid).asked(b"S")["state"])


def test_an_interrupted_capture_is_withdrawn(agents: Agents, tmp_path: Path) -> None:
    program = agents.start(STEPPING)
    capturing = subprocess.Popen(
        agents.command_line("capture", "--pid", program.pid, "--duration", "3600s", "-o", tmp_path),
        env=agents.environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: _state(agents, program.pid) == "recording")
    capturing.send_signal(signal.SIGINT)
    _stdout, stderr = capturing.communicate()
    assert capturing.returncode == 1
    assert f"process {program.pid} was not captured, cancelled" in stderr
    assert _state(agents, program.pid) == "idle"
    assert not list(tmp_path.iterdir())


def test_who_waits_for_steps_of_a_program_that_tells_of_none_is_told(agents: Agents, tmp_path: Path) -> None:
    program = agents.start(WAITING)
    capturing = subprocess.Popen(
        agents.command_line("capture", "--pid", program.pid, "--steps", "3", "-o", tmp_path),
        env=agents.environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert capturing.stderr is not None
    assert f"process {program.pid} has told of no step yet" in capturing.stderr.readline()
    wait_until(lambda: _state(agents, program.pid) == "waiting")
    capturing.send_signal(signal.SIGINT)
    capturing.communicate()


def test_one_that_fails_does_not_keep_the_others_from_theirs(agents: Agents, tmp_path: Path) -> None:
    failing = """
import kinetograph as kg
class Client(kg.ondemand.Client):
    def start(self): raise ValueError("not today")
kg.ondemand.register_client(Client())
"""
    good, bad = agents.start(STEPPING), agents.start(failing + STEPPING)
    wait_until(lambda: agents.peer(bad.pid).asked(b"S")["step"] > 0)
    done = agents.command("capture", "--all", "--duration", "10ms", "-o", tmp_path)
    assert done.returncode == 3
    assert f"process {bad.pid} was not captured, failed: ValueError: not today" in done.stderr
    assert [Path(path).name.partition(".")[0] for path in done.stdout.splitlines()] == [
        f"{os.uname().nodename}-{good.pid}"
    ]


def test_a_pid_that_is_gone_does_not_keep_the_others_from_theirs(agents: Agents, tmp_path: Path) -> None:
    good, gone = agents.start(STEPPING), 2**22 + 1
    done = agents.command("capture", "--pid", gone, "--pid", good.pid, "--duration", "1ms", "-o", tmp_path)
    assert done.returncode == 3, done.stderr
    assert f"process {gone} was not captured, failed: there is no process {gone}" in done.stderr
    assert Path(done.stdout.strip()).name.startswith(f"{os.uname().nodename}-{good.pid}.")


def test_processes_are_chosen_by_name_and_job(agents: Agents, tmp_path: Path) -> None:
    one, two = agents.start(STEPPING, "--first", SLURM_JOB_ID="7"), agents.start(STEPPING, "--second")
    for choice, chosen in ((("--name", "--fir?t"), one), (("--job", "7"), one), (("--name", "second"), two)):
        done = agents.command("capture", *choice, "--duration", "1ms", "-q", "-o", tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert f"-{chosen.pid}" in done.stdout
    assert "no process with an agent is meant" in agents.command("capture", "--job", "8", "-o", ".").stderr


@pytest.mark.skipif(hasattr(sys, "remote_exec"), reason="newer ones can be given an agent")
def test_a_process_without_an_agent_is_told_what_to_set_next_time(agents: Agents) -> None:
    done = agents.command("capture", "--pid", os.getpid(), "-o", ".")
    assert done.returncode == 1
    assert f"process {os.getpid()} has no agent" in done.stderr
    assert "next time, set KINETOGRAPH_AGENT=1" in done.stderr
    assert "there is no process" in agents.command("capture", "--pid", 2**22 + 1, "-o", ".").stderr
    assert "which processes?" in agents.command("capture", "-o", ".").stderr


# `sys.remote_exec` of Python 3.14, played by a program that runs files whose names it reads. What `fails`
# does comes first.
REMOTE = """
import os, sys
def remote_exec(pid, script):
    mode = os.stat(script).st_mode & 0o777, os.stat(os.path.dirname(script)).st_mode & 0o777
    assert mode[1] == 0o700, mode
    {fails}
    with open({pipe!r}, "w") as pipe:
        print(script, file=pipe)
sys.remote_exec = remote_exec
from kinetograph.cli import main
main()
"""
TAKING = """
import sys, time
{before}
for line in open(sys.argv[1]):
    exec(open(line.strip()).read())
print(sorted(name for name in globals() if not name.startswith("__")), flush=True)
while True:
    time.sleep(0.01)
"""


def remotely(agents: Agents, before: str = "", fails: str = "pass") -> subprocess.CompletedProcess[str]:
    """A capture of a program without an agent, where Python can give it one."""
    pipe = agents.root / "scripts"
    os.mkfifo(pipe)
    program = agents.start_without_agent(TAKING.format(before=before), str(pipe))
    code = REMOTE.format(pipe=str(pipe), fails=fails)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            code,
            "capture",
            "--pid",
            str(program.pid),
            "--duration",
            "1ms",
            "-o",
            "traces",
        ],
        env=agents.environment,
        cwd=agents.root,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    if not done.returncode:
        assert program.stdout is not None
        assert program.stdout.readline() == "['line', 'sys', 'time']\n"
    assert not list(agents.captures.glob("start-*"))
    return done


def test_where_python_can_a_process_is_given_an_agent(agents: Agents) -> None:
    done = remotely(agents)
    assert done.returncode == 0, done.stderr
    assert (agents.root / done.stdout.strip()).exists()


def test_why_a_process_can_be_given_no_agent_is_told(agents: Agents) -> None:
    failing = """
import types
def start_agent(): raise ModuleNotFoundError("caf\\u00e9 \\udcff")  # of a name that is no text
sys.modules["kinetograph"] = types.SimpleNamespace(start_agent=start_agent)
"""
    done = remotely(agents, before=failing)
    assert done.returncode == 1
    assert "could start no agent: ModuleNotFoundError: caf\u00e9 ?" in done.stderr
    assert "is kinetograph installed for its Python?" in done.stderr


def test_a_process_that_takes_nothing_from_outside_is_told_of(agents: Agents) -> None:
    done = remotely(agents, fails="raise PermissionError(1, 'Operation not permitted')")
    assert done.returncode == 1
    assert "takes no agent from outside: [Errno 1] Operation not permitted" in done.stderr


def test_a_program_that_is_recorded_by_run_can_be_captured_too(agents: Agents, tmp_path: Path) -> None:
    code = "import os\n" + STEPPING.replace(
        "while True", f"while not os.path.exists({str(tmp_path / 'end')!r})"
    )
    run = subprocess.Popen(
        agents.command_line("run", "-q", "--agent", "-o", tmp_path / "run.json.gz", "-c", code),
        env=agents.environment,
    )
    wait_until(lambda: len(list(agents.sockets.glob("agent-*.sock"))) == 1)
    done = agents.command("capture", "--all", "--steps", 2, "-o", tmp_path / "captured")
    assert done.returncode == 0, done.stderr
    (tmp_path / "end").touch()
    assert run.wait() == 0
    assert [event.name for event in kg.load(done.stdout.strip()).events].count("work") == 2
    assert [event.name for event in kg.load(tmp_path / "run.json.gz").events].count("work") > 2


def test_children_of_a_pool_come_and_go_without_leaving_sockets_for_ever(agents: Agents) -> None:
    code = """
import multiprocessing, sys
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(sum(pool.map(abs, range(100))), flush=True)
        sys.stdin.read()
"""
    program = agents.start(code)
    assert program.stdout is not None
    assert program.stdout.readline() == "4950\n"
    wait_until(lambda: len(list(agents.sockets.iterdir())) == 3)
    program.communicate()
    agents.command("ps")
    assert not list(agents.sockets.iterdir())


@pytest.mark.slow
def test_two_hundred_agents_are_listed(agents: Agents) -> None:
    code = """
import os, signal, sys
for _ in range(199):
    if os.fork() == 0:
        signal.pause()
print("forked", flush=True)
sys.stdin.read()
os.killpg(0, signal.SIGKILL)
"""
    program = agents.start("import os; os.setpgid(0, 0)\n" + code)
    assert program.stdout is not None
    assert program.stdout.readline() == "forked\n"
    wait_until(lambda: len(list(agents.sockets.iterdir())) == 200)
    rows = [json.loads(line) for line in agents.command("ps", "--json").stdout.splitlines()]
    assert [row["state"] for row in rows] == ["idle"] * 200
    program.communicate()


@pytest.mark.slow
def test_a_thousand_captures_in_a_row_leave_nothing(agents: Agents) -> None:
    process = psutil.Process(agents.start(STEPPING).pid)
    peer = agents.peer(process.pid)

    def capture(times: int) -> int:
        """Gives the memory of the program afterwards."""
        for _ in range(times):
            Path(peer.captured(duration_ns=1_000_000)["path"]).unlink()
        return int(process.memory_info().rss)

    capture(10)  # behind which there are all threads that stay
    threads, descriptors = process.num_threads(), process.num_fds()
    after_a_tenth = capture(90)
    after_all = capture(900)
    assert after_all < after_a_tenth * 1.1
    # That of the capture answers before it ends.
    wait_until(lambda: process.num_threads() <= threads)  # that of an earlier one may have been counted
    assert process.num_fds() == descriptors
    assert not list(agents.captures.iterdir())
    peer.close()

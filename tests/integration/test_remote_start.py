"""Programs without an agent are given one while they run, by `sys.remote_exec`: Python 3.14 and newer."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

import kinetograph as kg
from agents import Agents, wait_until

pytestmark = pytest.mark.skipif(not hasattr(sys, "remote_exec"), reason="sys.remote_exec came with 3.14")

WORKING = """
import time
print("runs", flush=True)
def work():
    time.sleep(0.001)
while True:
    work()
"""


def started(agents: Agents, code: str, **variables: str) -> subprocess.Popen[str]:
    """A program without an agent, which has said its first word."""
    program = agents.start_without_agent(code, **variables)
    assert program.stdout is not None
    assert program.stdout.readline() == "runs\n"
    return program


def captured(agents: Agents, pid: int, *options: str) -> subprocess.CompletedProcess[str]:
    directory = agents.root / "traces"
    return agents.command("capture", "--pid", pid, "--duration", "20ms", "-o", directory, *options)


def test_a_program_that_runs_is_given_an_agent_and_captured_twice(agents: Agents) -> None:
    program = started(agents, WORKING)
    for _ in range(2):
        done = captured(agents, program.pid, "--with-stack")
        assert done.returncode == 0, done.stderr
        assert any("work" in event.name for event in kg.load(done.stdout.strip()).events)
    assert len(agents.sockets_of(program.pid)) == 1
    assert not list(agents.captures.iterdir())
    assert program.poll() is None


def test_nothing_is_left_among_the_names_of_the_program(agents: Agents) -> None:
    end = agents.root / "end"
    program = started(
        agents,
        f"""
import os, time
print("runs", flush=True)
while not os.path.exists({str(end)!r}):
    time.sleep(0.001)
print([name for name in globals() if not name.startswith("__")])
""",
    )
    done = captured(agents, program.pid)
    assert done.returncode == 0, done.stderr
    end.touch()
    assert program.communicate()[0] == "['os', 'time']\n"


def test_a_program_that_waits_is_told_of_and_finds_nothing_to_complain_of(agents: Agents) -> None:
    program = started(agents, "import sys\nprint('runs', flush=True)\nsys.stdin.readline()\nprint('on')")
    done = subprocess.run(
        [sys.executable, "-c", HURRIED, "capture", "--pid", str(program.pid), "-o", "traces"],
        env=agents.environment,
        cwd=agents.root,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert f"process {program.pid} has not come to a line of Python within 0.1 s" in done.stderr
    assert "hint: its main thread waits, or computes in C" in done.stderr
    assert program.communicate("\n")[0] == "on\n"
    assert program.returncode == 0
    assert not agents.sockets.exists()
    (left,) = agents.captures.glob("start-*/start.py")
    assert left.read_text() == ""


HURRIED = """
from kinetograph.ondemand import remote_start
remote_start._MOST_SECONDS = 0.1
from kinetograph.cli import main
main()
"""


def test_a_program_that_waits_for_a_moment_is_captured_when_it_goes_on(agents: Agents) -> None:
    program = started(agents, "import sys\nprint('runs', flush=True)\nsys.stdin.readline()\n" + WORKING)
    capture: list[subprocess.CompletedProcess[str]] = []
    thread = threading.Thread(target=lambda: capture.append(captured(agents, program.pid)))
    thread.start()
    wait_until(lambda: bool(list(agents.captures.glob("start-*/start.py"))))
    assert program.stdin is not None
    program.stdin.write("\n")
    program.stdin.flush()
    thread.join()
    assert capture[0].returncode == 0, capture[0].stderr


def test_a_program_that_ends_meanwhile_is_told_of_at_once(agents: Agents) -> None:
    program = started(agents, "import sys, os\nprint('runs', flush=True)\nos.read(0, 1)\nos._exit(0)")
    capture: list[subprocess.CompletedProcess[str]] = []
    thread = threading.Thread(target=lambda: capture.append(captured(agents, program.pid)))
    thread.start()
    wait_until(lambda: bool(list(agents.captures.glob("start-*/start.py"))))
    program.kill()  # and nobody asks for its status: it stays among the processes
    thread.join()
    assert capture[0].returncode == 1
    assert f"process {program.pid}" in capture[0].stderr
    assert "has not come to a line" not in capture[0].stderr
    assert not list(agents.captures.glob("start-*"))


def test_a_program_that_does_not_want_it_is_left_alone(agents: Agents) -> None:
    program = started(agents, WORKING, PYTHON_DISABLE_REMOTE_DEBUG="1")
    done = captured(agents, program.pid)
    assert done.returncode == 1
    assert f"process {program.pid} takes no agent from outside: " in done.stderr
    assert program.poll() is None
    assert not list(agents.captures.iterdir())


def test_a_program_whose_python_has_no_kinetograph_says_so(agents: Agents) -> None:
    program = started(agents, "import sys\nsys.path = [p for p in sys.path if 'site-' not in p]" + WORKING)
    done = captured(agents, program.pid)
    assert done.returncode == 1
    assert "could start no agent: ModuleNotFoundError: No module named 'kinetograph'" in done.stderr
    assert "hint: is kinetograph installed for its Python?" in done.stderr
    assert program.poll() is None


def test_what_is_no_python_is_told_of(agents: Agents) -> None:
    with subprocess.Popen(["sleep", "60"]) as sleeping:
        done = captured(agents, sleeping.pid)
        sleeping.kill()
    assert done.returncode == 1
    assert f"process {sleeping.pid} takes no agent from outside: " in done.stderr


def test_an_agent_where_nobody_looks_is_told_of(agents: Agents) -> None:
    elsewhere = agents.root / "elsewhere"
    program = started(agents, WORKING, KINETOGRAPH_RUNTIME_DIR=str(elsewhere))
    done = captured(agents, program.pid)
    assert done.returncode == 1
    assert f"process {program.pid} has an agent now, in {elsewhere}" in done.stderr
    assert f"hint: ask again with KINETOGRAPH_RUNTIME_DIR={elsewhere}" in done.stderr


def test_a_process_of_another_user_is_refused(agents: Agents) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    program = started(agents, "import os; os.setgid(65534); os.setuid(65534)\n" + WORKING)
    done = captured(agents, program.pid)
    assert done.returncode == 1
    assert f"process {program.pid} belongs to another user" in done.stderr
